import { Redis } from 'ioredis';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { redisViewWriter } from '../../infra/redis/redis-view-writer.ts';
import { silentLog } from '../../projector/ports/log.ts';
import { Projector } from '../../projector/projector.ts';
import { dayText } from '../../schemas/views/days.ts';
import { readerKey } from '../../schemas/views/view-keys.ts';
import { type BenchRecord, memoryEventLog } from './memory-event-log.ts';
import { table } from './statistics.ts';

const readers = 10_000;
const days = 30;
const firstDay = Math.floor(Date.now() / 86_400_000);
const stamps = { revision: 1, changed_at: 1 };
const settings = { cluster: false, keyPrefix: 'ride-calendar:' };

/** How many followers one who goes has, and how many friends of a reader go on the same day. */
const cases = [
  { followers: 10, friends: 1 },
  { followers: 1_000, friends: 1 },
  { followers: 10, friends: 6 },
  { followers: 1_000, friends: 6 },
];

/** Bytes in Redis of one day of one reader on which somebody they follow is going. */
export async function benchViews(): Promise<void> {
  const rows: string[][] = [];
  for (const { followers, friends } of cases) {
    const server = await startRedisServer();
    const redis = new Redis(server.url);
    try {
      const stop = new AbortController();
      const log = memoryEventLog(world(followers, friends));
      const writer = await redisViewWriter({ url: server.url, ...settings });
      const projector = new Projector({ eventLog: log, writer, rejects: null, log: silentLog });
      const running = projector.run(stop.signal);
      while (!projector.ready) await after(20);
      const before = await bytesUsed(redis);
      for (const answer of answers(followers)) log.publish(answer);
      const keys = redisKeys(settings.keyPrefix);
      const entries = async (): Promise<number> => {
        const counts = await Promise.all(
          Array.from({ length: readers }, (_, i) => redis.hlen(keys.toRedis(readerKey(readerOf(i))))),
        );
        return counts.reduce((sum, count) => sum + count, 0);
      };
      while ((await entries()) < readers * days) await after(200);
      const grown = (await bytesUsed(redis)) - before;
      const usage = (await redis.memory('USAGE', keys.toRedis(readerKey(readerOf(0))), 'SAMPLES', 0)) as number;
      stop.abort();
      await running;
      await writer.close();
      rows.push([
        String(followers),
        String(friends),
        `${readers * days}`,
        `${(grown / (readers * days)).toFixed(0)} B`,
        `${(usage / days).toFixed(0)} B`,
      ]);
    } finally {
      redis.disconnect();
      await server.stop();
    }
  }
  console.log(`Views in Redis: ${readers} readers, each with friends going on each of ${days} days`);
  console.log(
    table(
      ['followers of one who goes', 'friends a day', 'entries', 'used_memory an entry', 'MEMORY USAGE an entry'],
      rows,
    ),
  );
}

const readerOf = (i: number): string => `u_${String(i).padStart(7, '0')}`;
const goerOf = (i: number): string => `g_${String(i).padStart(7, '0')}`;
const rideOf = (day: number): string => `ride${day % 200}`;

function* world(followers: number, friends: number): Generator<BenchRecord> {
  const metro = 'benchville';
  yield { topic: 'metros', key: metro, value: { metro, name: 'Benchville', time_zone: 'Europe/Berlin', ...stamps } };
  for (let day = firstDay; day < firstDay + days; day++) {
    const ride = rideOf(day);
    const url = `https://rides.example.org/r/${ride}`;
    const rest = { description: null, type: 'social', distance: null, audience: null, leaders: [], posted: true, url };
    yield { topic: 'rides', key: ride, value: { ride, title: ride, metro, ...rest, ...stamps } };
    const on = { meet_time: null, status: 'ON' as const, cancellation_reason: null, meeting: null, url };
    yield { topic: 'nights', key: `${ride}/${dayText(day)}`, value: { ride, day, ...on, ...stamps } };
  }
  const rider = (id: string): BenchRecord => {
    return { topic: 'riders', key: id, value: { rider: id, handle: id, name: null, ...stamps } };
  };
  for (let i = 0; i < readers; i++) {
    if (i % followers === 0) yield rider(goerOf(i / followers));
    yield rider(readerOf(i));
    for (let f = 0; f < friends; f++) {
      const other = goerOf((Math.floor(i / followers) + f) % (readers / followers));
      const bits = { follows: true, close: false, flagged: false, blocked: false };
      const key = `${readerOf(i)}/${other}`;
      yield { topic: 'relations', key, value: { rider: readerOf(i), other, ...bits, ...stamps } };
    }
  }
}

function* answers(followers: number): Generator<BenchRecord> {
  for (let goer = 0; goer < readers / followers; goer++) {
    for (let day = firstDay; day < firstDay + days; day++) {
      const value = {
        ride: rideOf(day),
        day,
        rider: goerOf(goer),
        response: 'GOING' as const,
        saved: false,
        ...stamps,
      };
      yield { topic: 'attendance', key: `${value.ride}/${dayText(day)}/${value.rider}`, value };
    }
  }
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function bytesUsed(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))![1]);
}
