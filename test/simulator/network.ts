import type { Random } from '../../services/simulate/world/random.ts';
import type { RedisInMemory, Snapshot } from './redis-in-memory.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Timeline } from './timeline.ts';

/** What a network does to whoever uses it. */
export interface Weather {
  /** How often a connection breaks between two commands, so that replies are lost whose commands were carried out. */
  breaks: number;
  /** How often a message takes long. */
  slow: number;
  /** How often bad records cannot be set aside, or are and it is not known. */
  unacknowledged: number;
  /** How long what some processes send is on its way to any Redis, by the process's name. */
  late: Map<string, number>;
}

export const fairWeather = (): Weather => ({ breaks: 0, slow: 0, unacknowledged: 0, late: new Map() });

/** A Redis that is up, down or frozen. Its clients notice that it went away. */
export class Master {
  readonly redis: RedisInMemory;
  readonly connections = new Set<Connection>();
  up = true;
  /** How often it began to answer again: between two looks it may have. */
  returns = 0;
  #waiting: (() => void)[] | null = null;

  constructor(redis: RedisInMemory) {
    this.redis = redis;
  }

  stop(): void {
    this.up = false;
    for (const connection of [...this.connections]) connection.breakOff();
  }

  start(snapshot: Snapshot, process: { runId: string; replicationId: string }): void {
    this.redis.restart(snapshot, process);
    this.up = true;
    this.returns += 1;
  }

  get frozen(): boolean {
    return this.#waiting !== null;
  }

  freeze(): void {
    this.#waiting ??= [];
  }

  resume(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    this.returns += 1;
    for (const carryOut of waiting) carryOut();
  }

  /** Carries out what has arrived, now or once it is resumed. */
  arrived(carryOut: () => void): void {
    if (this.#waiting) this.#waiting.push(carryOut);
    else carryOut();
  }
}

type Command = (redis: RedisInMemory) => unknown;

interface Pending {
  command: Command;
  answered(reply: unknown): void;
  failed(cause: Error): void;
}

interface ConnectionDeps {
  timeline: Timeline;
  random: Random;
  weather: Weather;
  process: SimulatedProcess;
  master: Master;
  name: string;
  /** The connection was lost, or made. Happens in the process. */
  onChange(ready: boolean): void;
}

export interface Connection {
  isReady(): boolean;
  send(command: Command): Promise<unknown>;
  /** CLIENT TRACKING: hears of changed keys as long as this connection lasts. */
  track(prefix: string, heard: (names: Buffer[] | null) => void): Promise<unknown>;
  breakOff(): void;
}

/** A process's connection to a Redis, made again whenever it breaks. What is sent in one turn travels together; all arrives in order. */
export function connectTo({ timeline, random, weather, process, master, name, onChange }: ConnectionDeps): Connection {
  let ready = false;
  /** Counts connections: what belongs to an earlier one is lost. */
  let current = 0;
  /** The one that the process knows: it hears late that this is gone, and what it sends until then is lost. */
  let known = 0;
  let flight: Pending[] = [];
  const waiting = new Set<Pending>();
  let [arrivedMs, repliedMs] = [0, 0];
  let pushed: (Buffer[] | null)[] = [];

  const latency = (): number => (random.chance(weather.slow) ? random.int(5, 400) : random.unit() * 2);

  function send(command: Command): Promise<unknown> {
    if (!ready) return Promise.reject(new Error('Redis cannot be reached'));
    return new Promise((answered, failed) => {
      const pending: Pending = { command, answered, failed };
      waiting.add(pending);
      if (flight.push(pending) === 1) takeOff();
    });
  }

  function track(prefix: string, heard: (names: Buffer[] | null) => void): Promise<unknown> {
    return send((redis) => {
      // Whatever refuses this refuses tracking.
      redis.command(['INFO', 'server']);
      const number = current;
      redis.track(prefix, (names) => {
        if (number !== current) return false;
        push(number, heard, names);
        return true;
      });
    });
  }

  /** What the server sends by itself. What it sends in one turn is heard together. */
  function push(number: number, heard: (names: Buffer[] | null) => void, names: Buffer[] | null): void {
    if (pushed.push(names) > 1) return;
    reply(number, () => {
      for (const each of pushed.splice(0)) heard(each);
    });
  }

  function breakOff(): void {
    if (!ready && waiting.size === 0) return;
    master.connections.delete(connection);
    current += 1;
    pushed = [];
    const number = current;
    timeline.after(latency(), () =>
      process.run(name, () => {
        // It broke once more before the process heard of it: it hears of that.
        if (number !== current) return;
        ready = false;
        const lost = [...waiting];
        waiting.clear();
        flight = [];
        for (const { failed } of lost) failed(new Error('Connection lost'));
        onChange(false);
        connect();
      }),
    );
  }

  function connect(): void {
    timeline.after(random.int(5, 100), () => {
      process.run(name, () => {
        if (!master.up) return connect();
        master.connections.add(connection);
        known = current;
        ready = true;
        [arrivedMs, repliedMs] = [0, 0];
        onChange(true);
      });
    });
  }

  function takeOff(): void {
    const number = known;
    const lateMs = weather.late.get(process.name) ?? 0;
    arrivedMs = Math.max(arrivedMs, timeline.nowMs + latency() + lateMs);
    const sent = flight;
    timeline.at(arrivedMs, () => {
      // What is sent over the next connection is no part of what this one lost.
      if (flight === sent) flight = [];
      master.arrived(() => {
        if (number === current) carryOut(sent);
      });
    });
  }

  /** The server carries out a flight, or only its beginning before the connection breaks. */
  function carryOut(sent: readonly Pending[]): void {
    const breaks = random.chance(weather.breaks);
    const done = breaks ? random.int(0, sent.length) : sent.length;
    const replies = sent
      .slice(0, done)
      .map((pending) => ({ pending, answer: carriedOut(pending.command, master.redis) }));
    const kept = breaks ? replies.slice(0, random.int(0, done)) : replies;
    if (kept.length > 0) {
      reply(current, () => {
        for (const { pending, answer } of kept) {
          waiting.delete(pending);
          if (answer instanceof Error) pending.failed(answer);
          else pending.answered(answer);
        }
      });
    }
    if (breaks) breakOff();
  }

  /** Mostly at once: that a reply takes as long as a command changes little. */
  function reply(number: number, happen: () => void): void {
    repliedMs = Math.max(repliedMs, timeline.nowMs + (random.chance(0.1) ? latency() : 0));
    timeline.at(repliedMs, () =>
      process.run(name, () => {
        if (number === current) happen();
      }),
    );
  }

  const connection = { isReady: () => ready, send, track, breakOff };
  connect();
  return connection;
}

function carriedOut(command: Command, redis: RedisInMemory): unknown {
  try {
    return command(redis);
  } catch (cause) {
    return cause as Error;
  }
}
