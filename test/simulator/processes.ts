import { calendar } from '../../api/calendar/calendar.ts';
import { ViewCache } from '../../api/calendar/views/view-cache.ts';
import type { Answer } from '../../api/messages/answer.ts';
import { ReadGuard } from '../../infra/redis/leadership/read-guard.ts';
import { type Arg, type RedisConnection, storeErrors } from '../../infra/redis/redis-connection.ts';
import { beating, type RedisKeys, redisKeys } from '../../infra/redis/redis-keys.ts';
import { guardedReads } from '../../infra/redis/views/guarded-reads.ts';
import { Invalidations } from '../../infra/redis/views/invalidations.ts';
import { viewWriterOver } from '../../infra/redis/views/redis-view-writer.ts';
import { Projector } from '../../projector/projector.ts';
import type { Log } from '../../projector/running/log.ts';
import { viewFormat } from '../../schemas/views/view-keys.ts';
import { parseKey } from '../../schemas/views/view-kinds.ts';
import type { Random } from '../../services/simulate/world/random.ts';
import { type Connection, connectTo, type Master, type Weather } from './network.ts';
import type { SimulatedLog } from './simulated-log.ts';
import { SimulatedProcess } from './simulated-process.ts';
import type { SimulatedRejects } from './simulated-rejects.ts';
import type { Timeline } from './timeline.ts';

/** What processes share. */
export interface Surroundings {
  timeline: Timeline;
  random: Random;
  weather: Weather;
  masters: readonly Master[];
  log: Pick<SimulatedLog, 'adapter'>;
  rejects: SimulatedRejects;
  /** How this format's keys are spelled. */
  keys: RedisKeys;
  /** Those that views are in. */
  tags: readonly number[];
  /** The calendar's clock. */
  calendarNowMs(): number;
  say(message: string): void;
}

/** A process's connections, one to each master. */
function connections(
  around: Surroundings,
  process: SimulatedProcess,
  kind: string,
  onChange: (ready: boolean, connection: number) => void,
): Connection[] {
  return around.masters.map((master, i) => {
    const name = `${kind} ${i}`;
    return connectTo({ ...around, process, master, name, onChange: (ready) => onChange(ready, i) });
  });
}

const command = (connection: Connection, args: readonly Arg[]): Promise<unknown> =>
  connection.send((redis) => redis.command(args));
const tagOfKey = (redisKey: string): number => Number(/\{v(\d+)\}/.exec(redisKey)![1]);

/** The connection of the writer of views. What Redis refuses is told as it is of a real one. */
function redisConnectionOf(all: readonly Connection[]): RedisConnection {
  const told = storeErrors({ cluster: all.length > 1, waits: true });
  const send = (connection: Connection, args: readonly Arg[]): Promise<unknown> =>
    command(connection, args).catch((cause: unknown) => {
      throw told(cause);
    });
  return {
    isCluster: all.length > 1,
    command: (key, args) => send(all[tagOfKey(key) % all.length]!, args),
    masters: async () => all.map((each) => (args) => send(each, args)),
    close: async () => {},
  };
}

/** As often as a real one checks, or while all else happens. What nothing else finds is found by this in peace. */
const checksEveryMs = [50, 10_000];

/** The real projector in a process of its own. What ends it by a fault starts it again, as a supervisor does. */
export class ProjectorProcess {
  readonly process: SimulatedProcess;
  readonly projector: Projector;
  readonly startedMs: number;
  readonly #stop = new AbortController();

  /** `onEnd` hears of its fault; null if it was told to stop. */
  constructor(around: Surroundings, name: string, onEnd: (fault: Error | null) => void) {
    const { timeline, random, tags, keys } = around;
    this.process = new SimulatedProcess(timeline, name);
    const connection = redisConnectionOf(connections(around, this.process, 'redis', () => {}));
    this.startedMs = timeline.nowMs;
    const say = (message: string): void => around.say(`${name}: ${message}`);
    const log: Log = { info: say, warn: say, error: say };
    this.projector = new Projector({
      eventLog: around.log.adapter(this.process, random),
      writer: viewWriterOver(connection, keys, name.replace(/\W/g, ''), this.process.clock),
      rejects: around.rejects.adapter(this.process, random, around.weather),
      log,
      clock: this.process.clock,
      tags,
      checkEveryMs: random.pick(checksEveryMs),
    });
    const end = (fault: Error | null): void => {
      this.process.kill();
      onEnd(fault);
    };
    this.projector
      .run(this.#stop.signal)
      .then(
        () => end(this.#stop.signal.aborted ? null : new Error('Its run() settled, and nobody had told it to stop')),
        end,
      );
  }

  get alive(): boolean {
    return this.process.alive;
  }

  get leads(): boolean {
    return this.alive && this.projector.role === 'leader';
  }

  /** It was told to stop, and has not yet. */
  get stopping(): boolean {
    return this.alive && this.#stop.signal.aborted;
  }

  stop(): void {
    this.process.run('signals', () => this.#stop.abort());
  }

  /** The world is over: what still waits for a signal goes, or Node would keep all of it for as long as it runs. */
  leave(): void {
    this.process.kill();
    this.#stop.abort();
  }
}

/** The reading side in a process of its own: the real calendar, cache and guard. */
export class ApiProcess {
  readonly process: SimulatedProcess;
  readonly guard: ReadGuard;
  readonly faults: unknown[] = [];
  readonly #answers: ReturnType<typeof calendar>;

  constructor(around: Surroundings, name: string) {
    this.process = new SimulatedProcess(around.timeline, name);
    const { keys, tags, masters, calendarNowMs } = around;
    const { clock } = this.process;
    const isCluster = masters.length > 1;
    const all = connections(around, this.process, 'redis', () => this.guard.connectionChanged());
    const ask = async <T = (Buffer | null)[]>(tag: number, ...args: Arg[]) =>
      (await command(all[tag % all.length]!, args)) as T;
    const others = formats.filter((each) => each.keys.prefix !== keys.prefix);
    this.guard = new ReadGuard(
      {
        async processes() {
          if (!all.every(({ isReady }) => isReady())) throw new Error('not connected');
          return (await Promise.all(all.map(processOf))) as string[];
        },
        async look(tag) {
          const first = isCluster ? tag : tags[0]!;
          const own = [keys.fence(tag), keys.complete(tag), keys.coming(first), keys.led(tag), keys.fence(first)];
          const found = await ask(tag, 'MGET', ...own, ...others.map((other) => other.keys.fence(tag)));
          const [fence, stamp, coming, led, moves, ...fences] = found.map((each) => each?.toString() ?? null);
          return {
            fence: beating(fence!, moves!),
            stamp: stamp!,
            coming: coming!,
            led: led!,
            others: others.flatMap(({ format }, i) => (fences[i] === null ? [] : [format])),
          };
        },
      },
      clock,
      tags,
    );
    const tagOf = (view: string): number => parseKey(view).tag;
    const reads = guardedReads({
      commands: {
        get: (views) => ask(tagOf(views[0]!), 'MGET', ...views.map((view) => keys.toRedis(view))),
        again: (views) => Promise.all(views.map((view) => ask<Buffer | null>(tagOf(view), 'GET', keys.toRedis(view)))),
        fields: (view, fields) => ask(tagOf(view), 'HMGET', keys.toRedis(view), ...fields),
      },
      guard: this.guard,
      isCluster,
    });
    let invalidations: Invalidations | null = null;
    const cache = new ViewCache({
      ...reads,
      listen: (listener) => {
        invalidations = new Invalidations(keys, listener, clock, isCluster ? tags.length : 1);
        this.#track(around, invalidations);
      },
      noticePause: () => invalidations?.noticePause(),
      // Nobody asks.
      ready: async () => ({ ready: true }),
      close: async () => {},
    });
    this.#answers = calendar({
      baseUrl: 'http://127.0.0.1:8080/api',
      cache,
      calendarNowMs,
      cacheSeconds: 0,
      checker: { check: (token) => token },
      openApi: Buffer.from('{}'),
      onFault: (cause) => this.faults.push(cause),
    });
  }

  /** Asks in the process, now or once it goes on. */
  ask(path: string, headers: Record<string, string>, answered: (answer: Answer) => void): void {
    this.process.run('requests', () => {
      const handled = this.#answers({ method: 'GET', url: `/api${path}`, headers })!;
      void Promise.resolve(handled.answer).then(answered);
    });
  }

  /** As infra/redis/views/track-changes.ts does over its connections. */
  #track(around: Surroundings, invalidations: Invalidations): void {
    const trackers = connections(around, this.process, 'tracking', (ready, i) => {
      invalidations.connectionChanged();
      if (!ready) return;
      // Changes before tracking was acknowledged were missed.
      trackers[i]!.track(around.keys.publicPrefix, (names) => invalidations.message(names)).then(
        () => invalidations.connectionChanged(),
        () => trackers[i]!.breakOff(),
      );
    });
    const check = async (): Promise<void> => {
      for (;;) {
        await this.process.clock.sleep(250);
        invalidations.check();
      }
    };
    void check();
  }
}

const processOf = (connection: Connection): Promise<unknown> =>
  connection.send((redis) => {
    // Whatever refuses this tells nothing of the process.
    redis.command(['INFO', 'server']);
    return redis.process;
  });

/** The formats that a simulated store may hold: this one, and that of an older version. */
export const [olderFormat, thisFormat] = [viewFormat - 1, viewFormat] as const;
const formats = [olderFormat, thisFormat].map((format) => ({ format, keys: redisKeys('', format) }));
