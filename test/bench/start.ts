import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { loadSettings } from '../../services/settings/settings.ts';
import { defaultSizes } from '../../services/simulate/sizes.ts';
import { runSimulate } from '../../services/simulate.ts';
import { runTopics } from '../../services/topics.ts';
import { measuredCore, otherCore, pin, startPinned } from './pinned-process.ts';
import type { StartCost, StartSide } from './start-process.ts';
import { median, table } from './statistics.ts';

const sides: readonly { name: string; side: StartSide; aim: string }[] = [
  { name: 'bare fetch, counting records', side: 'bare', aim: '' },
  { name: 'folded', side: 'folded', aim: '' },
  { name: 'first start, into an empty Redis', side: 'started', aim: '3' },
  { name: 'next start, nothing to write', side: 'started', aim: '2.5' },
];

/** CPU and memory of a projector's start, from a real Kafka into a real Redis, against bare fetching of the same records. */
export async function benchStart(args: readonly string[] = []): Promise<void> {
  const { riders, rounds, profile } = options(args);
  pin(process.pid, otherCore);
  const [broker, redis] = await Promise.all([startKafkaBroker(), startRedisServer()]);
  for (const { pid } of [broker, redis]) pin(pid, otherCore);
  try {
    await fillKafka(broker.brokers, riders);
    const costs = sides.map((): StartCost[] => []);
    let redisSeconds: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const client = new Redis(redis.url);
      await client.flushall();
      for (const [i, { side }] of sides.entries()) {
        const before = await cpuSecondsOf(client);
        costs[i]!.push(await run(side, [broker.brokers, redis.url], profile && `${profile}/${i}-${side}`));
        if (i === 2) redisSeconds = [...redisSeconds, (await cpuSecondsOf(client)) - before];
      }
      client.disconnect();
    }
    print(costs, riders, rounds, median(redisSeconds));
  } finally {
    await Promise.all([broker.stop(), redis.stop()]);
  }
}

function options(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      riders: { type: 'string', default: '20000' },
      rounds: { type: 'string', default: '3' },
      profile: { type: 'string' },
    },
  });
  return { riders: Number(values.riders), rounds: Number(values.rounds), profile: values.profile };
}

async function fillKafka(brokers: string, riders: number): Promise<void> {
  const settings = loadSettings({ KAFKA_BROKERS: brokers, LOG_LEVEL: 'error' });
  const io = { out: () => {}, err: console.error, watched: false, signal: new AbortController().signal };
  await runTopics({ json: true }, settings, io);
  await runSimulate({ ...defaultSizes, riders, seed: 7, rate: 0, count: 0, json: true }, settings, io);
}

async function run(side: StartSide, servers: readonly string[], profile?: string): Promise<StartCost> {
  if (profile) mkdirSync(profile, { recursive: true });
  const flags = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : [];
  const measured = await startPinned('start-process.ts', [side, ...servers], measuredCore, flags);
  try {
    return await measured.ask<StartCost>('start');
  } finally {
    // A profile is written when the process ends by itself.
    if (!profile) await measured.end();
  }
}

async function cpuSecondsOf(client: Redis): Promise<number> {
  const info = await client.info('cpu');
  const [user, system] = ['user', 'sys'].map((what) => Number(new RegExp(`used_cpu_${what}:(\\S+)`).exec(info)?.[1]));
  return user! + system!;
}

function print(costs: readonly StartCost[][], riders: number, rounds: number, redisSeconds: number): void {
  const [bare] = costs;
  const { records, views } = costs[2]![0]!;
  console.log(`start: ${riders} riders, ${records} records, ${views} views, ${rounds} rounds, medians\n`);
  const rows = sides.map(({ name, aim }, i) => {
    const all = costs[i]!;
    const of = (what: keyof StartCost) => median(all.map((cost) => cost[what]));
    const ratio = median(all.map(({ cpuSeconds }, round) => cpuSeconds / bare![round]!.cpuSeconds));
    const rss = `${of('rssMiBMax').toFixed(0)} MiB`;
    return [
      name,
      `${of('cpuSeconds').toFixed(2)} s`,
      ratio.toFixed(2),
      aim,
      `${of('seconds').toFixed(1)} s`,
      rss,
      String(of('views')),
    ];
  });
  console.log(table(['', 'CPU', 'to bare', 'aim', 'clock', 'peak memory', 'views written'], rows));
  console.log(
    `Redis itself took ${redisSeconds.toFixed(2)} s of CPU for the first start; memory is to be at most 600 MiB`,
  );
}
