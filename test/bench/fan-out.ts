import { Redis } from 'ioredis';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { redisViewReader } from '../../infra/redis/redis-view-reader.ts';
import { dayText } from '../../schemas/views/days.ts';
import { nightKey, readerKey } from '../../schemas/views/view-keys.ts';
import { day, nights, rideOf, star } from './fan-out-world.ts';
import type { BenchRecord } from './memory-event-log.ts';
import { measuredCore, otherCore, type PinnedProcess, pin, startPinned } from './pinned-process.ts';
import { median, quantile, table } from './statistics.ts';

const changesPerSecond = 200;
const rounds = 20;
const quietMs = 3_000;

/**
 * How long unrelated changes take from the log to the store, with and without one RSVP of a rider with 100,000
 * followers being written: only changes made while it is written count. A change's time runs from when it was due, so
 * that one held up before it is even sent is not counted as quick; it ends when another process hears of the new view.
 */
export async function benchFanOut(): Promise<void> {
  pin(process.pid, otherCore);
  const server = await startRedisServer();
  pin(server.pid, otherCore);
  const settings = { url: server.url, cluster: false, keyPrefix: 'bench:' };
  const projector = await startPinned('fan-out-projector.ts', [server.url], measuredCore);
  const reader = redisViewReader(settings);
  const redis = new Redis(server.url);
  try {
    const changes = new Changes(projector);
    reader.watch({ changed: (key) => changes.heard(key), allChanged() {}, hearing() {} });
    await projector.ask('ready');
    await changes.during(after(quietMs));
    const without: number[] = [];
    const withStar: number[] = [];
    const seconds: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      withStar.push(...(await changes.during(fanOut(projector, redis, round))));
      seconds.push((performance.now() - start) / 1000);
      without.push(...(await changes.during(after(performance.now() - start))));
    }
    const row = (name: string, values: number[]): string[] => [
      name,
      String(values.length),
      `${quantile(values, 0.5).toFixed(1)} ms`,
      `${quantile(values, 0.9).toFixed(1)} ms`,
      `${quantile(values, 0.99).toFixed(1)} ms`,
    ];
    console.log(
      `Freshness of unrelated changes, ${changesPerSecond} a second; an RSVP of a rider with 100,000 followers took ${median(seconds).toFixed(1)} s to write`,
    );
    console.log(table(['', 'changes', 'p50', 'p90', 'p99'], [row('alone', without), row('beside the RSVP', withStar)]));
    const ratio = quantile(withStar, 0.99) / quantile(without, 0.99);
    console.log(`p99 beside the RSVP is ${ratio.toFixed(2)} times that alone; the aim is 2`);
  } finally {
    redis.disconnect();
    await reader.close();
    await projector.end();
    await server.stop();
  }
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const stamps = { revision: 1, changed_at: 1 };

function rsvp(rider: string, night: number, going: boolean): BenchRecord {
  const nightDay = day + night;
  const value = {
    ...{ ride: rideOf(night), day: nightDay, rider, response: going ? ('GOING' as const) : ('NONE' as const) },
    ...{ saved: false, ...stamps },
  };
  return { topic: 'attendance', key: `${value.ride}/${dayText(nightDay)}/${rider}`, value };
}

/** One RSVP of the star's; resolves when the last follower's view tells of it. */
async function fanOut(projector: PinnedProcess, redis: Redis, night: number): Promise<void> {
  projector.send(rsvp(star, night, true));
  const last = redisKeys('bench:').toRedis(readerKey('follower99999'));
  while (!(await redis.hexists(last, `f${dayText(day + night)}`))) await after(5);
}

/** Unrelated changes, each to a night of its own. */
class Changes {
  readonly #projector: PinnedProcess;
  readonly #dueMs = new Map<string, number>();
  readonly #took: number[] = [];
  #count = 0;

  constructor(projector: PinnedProcess) {
    this.#projector = projector;
  }

  heard(key: string): void {
    const due = this.#dueMs.get(key);
    if (due === undefined) return;
    this.#dueMs.delete(key);
    this.#took.push(performance.now() - due);
  }

  /** Makes changes until something is done; answers how long each took, in milliseconds. */
  async during(done: Promise<unknown>): Promise<number[]> {
    this.#took.length = 0;
    let running = true;
    void done.finally(() => {
      running = false;
    });
    const start = performance.now();
    for (let i = 0; running; i++) {
      const due = start + (i * 1_000) / changesPerSecond;
      const wait = due - performance.now();
      if (wait > 0) await after(wait);
      this.#change(due);
    }
    await done;
    for (let tries = 0; this.#dueMs.size > 0; tries++) {
      if (tries > 1_000) throw new Error(`Cannot measure the fan-out: ${this.#dueMs.size} changes were never heard of`);
      await after(10);
    }
    return [...this.#took];
  }

  #change(due: number): void {
    // Not the star's nights, and none that is still under way.
    const night = 100 + (this.#count % (nights - 100));
    const going = Math.floor(this.#count / (nights - 100)) % 2 === 0;
    this.#count += 1;
    this.#dueMs.set(nightKey(rideOf(night), dayText(day + night)), due);
    this.#projector.send(rsvp('other', night, going));
  }
}
