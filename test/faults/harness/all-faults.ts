import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { KafkaBroker } from '../../../infra/local/kafka-broker.ts';
import type { RedisServer } from '../../../infra/local/redis-server.ts';
import type { Random } from '../../../services/simulate/world/random.ts';
import { cutTail } from '../../support/servers/kafka-disk.ts';
import type { StallingProxy } from '../../support/servers/redis-proxies.ts';
import type { HistoryWriter } from '../history.ts';
import { type Publisher, partitionOf } from './publisher.ts';
import type { Service } from './service.ts';

/** What a nemesis may reach. */
export interface Arena {
  history: HistoryWriter;
  topicPrefix: string;
  broker: KafkaBroker;
  redis: RedisServer;
  /** What stands between the service and Redis. */
  proxy: StallingProxy;
  projectors: readonly Service[];
  apis: readonly Service[];
  publisher: Publisher;
}

/** Its target: faults of one target follow one another; they never overlap. `run` resolves once what it broke is up again. */
type Fault = (arena: Arena, random: Random) => Promise<{ target: string; run(): Promise<void> }>;

const on =
  (target: string, act: (arena: Arena, random: Random) => Promise<void>): Fault =>
  async (arena, random) => ({ target, run: () => act(arena, random) });

const onProcess =
  (kind: 'leader' | 'standby' | 'api', act: (service: Service, random: Random) => Promise<void>): Fault =>
  async ({ projectors, apis }, random) => {
    const leads = await Promise.all(projectors.map((each) => each.leads()));
    // Where nobody says so, any.
    const leader = Math.max(leads.indexOf(true), 0);
    const service = kind === 'api' ? random.pick(apis) : projectors[kind === 'leader' ? leader : 1 - leader]!;
    return { target: service.name, run: () => act(service, random) };
  };

async function away(service: Service, ms: number, asked: 'kill' | 'stop'): Promise<void> {
  await service.end(asked);
  await sleep(ms);
  await service.start();
  await service.ready();
}
const kill = (service: Service, random: Random) => away(service, random.int(200, 3_000), 'kill');
const stop = (service: Service) => away(service, 0, 'stop');
const pause = (fromMs: number, toMs: number) => async (service: Service, random: Random) => {
  service.signal('SIGSTOP');
  await sleep(random.int(fromMs, toMs));
  service.signal('SIGCONT');
  await service.ready();
};

async function freeze({ pid }: { pid: number }, ms: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await sleep(ms);
  process.kill(pid, 'SIGCONT');
}

/** Does something to Redis as an operator would, not through the proxy. */
async function tell<T>({ url }: RedisServer, command: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { maxRetriesPerRequest: 2 });
  redis.on('error', () => undefined);
  return command(redis).finally(() => redis.disconnect());
}
const limitMemory = (server: RedisServer, limit: string) => tell(server, (it) => it.config('SET', 'maxmemory', limit));

async function restartEmpty({ redis }: Arena, random: Random): Promise<void> {
  await redis.kill();
  // Another fault may have left a snapshot.
  await rm(join(redis.folder, 'dump.rdb'), { force: true });
  await sleep(random.int(200, 3_000));
  await redis.start();
}

async function restoreSnapshot({ redis }: Arena, random: Random): Promise<void> {
  await tell(redis, (it) => it.save());
  await sleep(random.int(1_000, 5_000));
  await redis.kill();
  await redis.start();
}

/** Not that of `title1`, where bad records are: they are not to be cut off. */
const cutPartition = partitionOf('rides', 'title2');

/** The last records of a partition are lost, and others take their place. */
async function loseTail({ publisher, broker, history, topicPrefix }: Arena, random: Random): Promise<void> {
  await publisher.holdWhile(async () => {
    // What was read before it is lost.
    await sleep(random.int(0, 2_000));
    await broker.kill();
    const folder = join(broker.dataFolder, `${topicPrefix}rides-${cutPartition}`);
    const from = await cutTail(folder, random.int(1, 8));
    if (from !== null) history.add('lost', { topic: 'rides', partition: cutPartition, offset: from });
    await broker.start();
  });
}

export const allFaults: Readonly<Record<string, Fault>> = {
  'leader killed': onProcess('leader', kill),
  'standby killed': onProcess('standby', kill),
  'api killed': onProcess('api', kill),
  'leader told to stop': onProcess('leader', stop),
  'api told to stop': onProcess('api', stop),
  // Too short for anybody to take over.
  'leader paused': onProcess('leader', pause(500, 1_500)),
  // A standby takes over meanwhile: it wakes up as a zombie.
  'leader paused and deposed': onProcess('leader', pause(7_000, 10_000)),
  'standby paused': onProcess('standby', pause(1_000, 5_000)),
  'api paused': onProcess('api', pause(1_000, 5_000)),
  'redis paused': on('redis', ({ redis }, random) => freeze(redis, random.int(1_000, 6_000))),
  'redis emptied': on('redis', async ({ redis }) => void (await tell(redis, (it) => it.flushall()))),
  'redis killed, back empty': on('redis', restartEmpty),
  'redis killed, back with an older snapshot': on('redis', restoreSnapshot),
  'redis full': on('redis', async ({ redis }, random) => {
    await limitMemory(redis, '1mb');
    await sleep(random.int(2_000, 8_000));
    await limitMemory(redis, '0');
  }),
  'redis drops every connection': on('redis', async ({ redis }) => {
    await tell(redis, (it) => it.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
    await tell(redis, (it) => it.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
  }),
  'redis slow': on('way to redis', async ({ proxy }, random) => {
    proxy.slow(random.int(20, 400));
    await sleep(random.int(3_000, 8_000));
    proxy.slow(0);
  }),
  'redis half open': on('way to redis', async ({ proxy }, random) => {
    for (const kind of ['data', 'tracker'] as const) if (random.chance(0.7)) proxy.stall(kind);
    await sleep(random.int(3_000, 6_000));
  }),
  'redis cut in mid-reply': on('way to redis', async ({ proxy }, random) => {
    for (let again = 0; again < 5; again++) {
      proxy.cutReplies(true);
      await sleep(random.int(10, 100));
      proxy.cutReplies(false);
      await sleep(random.int(100, 600));
    }
  }),
  'kafka paused': on('kafka', ({ broker }, random) => freeze(broker, random.int(1_000, 8_000))),
  'kafka killed and started': on('kafka', async ({ broker }, random) => {
    await broker.kill();
    await sleep(random.int(0, 3_000));
    await broker.start();
  }),
  'log loses its tail': on('kafka', loseTail),
};
