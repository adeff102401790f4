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
  onChange?(ready: boolean): void;
}

/**
 * A process's connection to a Redis. What is sent in one turn travels together, and all arrives in order. It is made
 * again whenever it breaks.
 */
export class Connection {
  readonly #deps: ConnectionDeps;
  ready = false;
  /** Counts connections: what belongs to an earlier one is lost. */
  #number = 0;
  /** The one that the process knows: it hears late that this is gone, and what it sends until then is lost. */
  #known = 0;
  #flight: Pending[] = [];
  #pending = new Set<Pending>();
  #arrivedMs = 0;
  #repliedMs = 0;
  #pushed: (Buffer[] | null)[] = [];

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
    this.#connect();
  }

  send(command: Command): Promise<unknown> {
    if (!this.ready) return Promise.reject(new Error('Redis cannot be reached'));
    return new Promise((answered, failed) => {
      const pending: Pending = { command, answered, failed };
      this.#pending.add(pending);
      if (this.#flight.push(pending) === 1) this.#takeOff();
    });
  }

  /** CLIENT TRACKING: hears of changed keys as long as this connection lasts. */
  track(prefix: string, heard: (names: Buffer[] | null) => void): Promise<unknown> {
    const tracker = (number: number) => (names: Buffer[] | null) => {
      if (number !== this.#number) return false;
      this.#push(number, heard, names);
      return true;
    };
    return this.send((redis) => {
      // Whatever refuses this refuses tracking.
      redis.command(['INFO', 'server']);
      return redis.track(prefix, tracker(this.#number));
    });
  }

  /** What the server sends by itself. What it sends in one turn is heard together. */
  #push(number: number, heard: (names: Buffer[] | null) => void, names: Buffer[] | null): void {
    if (this.#pushed.push(names) > 1) return;
    this.#reply(number, () => {
      for (const each of this.#pushed.splice(0)) heard(each);
    });
  }

  breakOff(): void {
    const { process, timeline, master, name } = this.#deps;
    if (!this.ready && this.#pending.size === 0) return;
    master.connections.delete(this);
    this.#number += 1;
    this.#pushed = [];
    const number = this.#number;
    timeline.after(this.#latency(), () =>
      process.run(name, () => {
        // It broke once more before the process heard of it: it hears of that.
        if (number !== this.#number) return;
        this.ready = false;
        const lost = [...this.#pending];
        this.#pending.clear();
        this.#flight = [];
        for (const { failed } of lost) failed(new Error('Connection lost'));
        this.#deps.onChange?.(false);
        this.#connect();
      }),
    );
  }

  #connect(): void {
    const { timeline, random, process, master, name } = this.#deps;
    timeline.after(random.int(5, 100), () => {
      process.run(name, () => {
        if (!master.up) return this.#connect();
        master.connections.add(this);
        this.#known = this.#number;
        this.ready = true;
        this.#arrivedMs = 0;
        this.#repliedMs = 0;
        this.#deps.onChange?.(true);
      });
    });
  }

  #takeOff(): void {
    const { timeline, master, weather, process } = this.#deps;
    const number = this.#known;
    const lateMs = weather.late.get(process.name) ?? 0;
    this.#arrivedMs = Math.max(this.#arrivedMs, timeline.nowMs + this.#latency() + lateMs);
    const flight = this.#flight;
    timeline.at(this.#arrivedMs, () => {
      // What is sent over the next connection is no part of what this one lost.
      if (this.#flight === flight) this.#flight = [];
      master.arrived(() => {
        if (number === this.#number) this.#carryOut(flight);
      });
    });
  }

  /** The server carries out a flight, or only its beginning before the connection breaks. */
  #carryOut(flight: readonly Pending[]): void {
    const { random, weather, master } = this.#deps;
    const breaks = random.chance(weather.breaks);
    const done = breaks ? random.int(0, flight.length) : flight.length;
    const replies = flight
      .slice(0, done)
      .map((pending) => ({ pending, reply: carriedOut(pending.command, master.redis) }));
    const number = this.#number;
    const kept = breaks ? replies.slice(0, random.int(0, done)) : replies;
    if (kept.length > 0) {
      this.#reply(number, () => {
        for (const { pending, reply } of kept) {
          this.#pending.delete(pending);
          if (reply instanceof Error) pending.failed(reply);
          else pending.answered(reply);
        }
      });
    }
    if (breaks) this.breakOff();
  }

  /** Mostly at once: that a reply takes as long as a command changes little. */
  #reply(number: number, happen: () => void): void {
    const { timeline, random, process, name } = this.#deps;
    const latency = random.chance(0.1) ? this.#latency() : 0;
    this.#repliedMs = Math.max(this.#repliedMs, timeline.nowMs + latency);
    const heard = () => {
      if (number === this.#number) happen();
    };
    timeline.at(this.#repliedMs, () => process.run(name, heard));
  }

  #latency(): number {
    const { random, weather } = this.#deps;
    return random.chance(weather.slow) ? random.int(5, 400) : random.unit() * 2;
  }
}

function carriedOut(command: Command, redis: RedisInMemory): unknown {
  try {
    return command(redis);
  } catch (cause) {
    return cause as Error;
  }
}
