import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RedisServer } from '../../../infra/local/redis-server.ts';
import type { Random } from '../../../services/simulate/world/random.ts';
import type { StallingProxy } from '../../support/servers/stalling-proxy.ts';
import { follow, type Master, tell, untilTold } from '../harness/stores.ts';
import { type Arena, type Fault, freeze, type Readied } from './fault.ts';

/** What happens to the Redis of the views, and on the way to it. */

const of = (name: string, act: (master: Master, random: Random, arena: Arena) => Promise<void>): Fault => ({
  name,
  ready(arena, random): Readied {
    const master = random.pick(arena.stores.masters);
    const run = async () => {
      await findRoles(master);
      await act(master, random, arena);
    };
    return { targets: [master.name], run };
  },
});

/** A Redis Cluster fails over by itself when a master is paused for long. */
async function findRoles(master: Master): Promise<void> {
  const { server, replica } = master;
  const isMaster = (said: string): boolean => said.includes('role:master');
  if (!replica || (await tell(server, (redis) => redis.info('replication')).then(isMaster))) return;
  await untilTold(replica, isMaster, 'became the master');
  Object.assign(master, { server: replica, replica: server });
}

const onTheWay = (name: string, act: (proxy: StallingProxy, random: Random) => Promise<void>): Fault => ({
  name,
  isPossible: ({ stores }) => stores.proxy !== null,
  ready: ({ stores }, random) => ({ targets: ['way to redis'], run: () => act(stores.proxy!, random) }),
});

const withReplica = (fault: Fault): Fault => ({
  ...fault,
  isPossible: ({ stores }) => stores.masters.every(({ replica }) => replica !== null),
});
/** Where there is a replica, a Redis that comes back empty would empty the replica too, and a cluster fails over meanwhile. */
const alone = (fault: Fault): Fault => ({ ...fault, isPossible: ({ stores }) => stores.kind === 'single' });

/** Without the snapshot that another fault may have left. */
async function restartEmpty({ server }: Master, random: Random): Promise<void> {
  const [, folder] = (await tell(server, (redis) => redis.config('GET', 'dir'))) as string[];
  await server.kill();
  await rm(join(folder!, 'dump.rdb'), { force: true });
  await sleep(random.int(200, 3_000));
  await server.start();
}

async function restoreSnapshot({ server }: Master, random: Random): Promise<void> {
  await tell(server, (redis) => redis.save());
  await sleep(random.int(1_000, 5_000));
  await server.kill();
  await server.start();
}

/** Its memory is full, or not. */
const fill = (redis: Redis, isFull: boolean) => redis.config('SET', 'maxmemory', isFull ? '1mb' : '0');

/** The replica stands still and loses its master, so that it lacks the last writes; then it is the master. */
async function failOver(master: Master, random: Random, { stores }: Arena): Promise<void> {
  const { server, replica } = master as { server: RedisServer; replica: RedisServer };
  process.kill(replica.pid, 'SIGSTOP');
  await tell(server, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'replica'));
  await sleep(random.int(1_000, 4_000));
  await server.kill();
  process.kill(replica.pid, 'SIGCONT');
  if (stores.proxy) {
    await tell(replica, (redis) => redis.replicaof('NO', 'ONE'));
    stores.proxy.retarget(replica.url);
  } else {
    await untilTold(replica, (said) => said.includes('role:master'), 'became the master');
  }
  await server.start();
  if (stores.proxy) await follow(server, replica);
  else await untilTold(server, (said) => said.includes('master_link_status:up'), 'became a replica');
  Object.assign(master, { server: replica, replica: server });
}

export const storeFaults: readonly Fault[] = [
  of('redis paused', ({ server }, random) => freeze([server], random.int(1_000, 6_000))),
  of('redis emptied', async ({ server }) => void (await tell(server, (redis) => redis.flushall()))),
  alone(of('redis killed, back empty', restartEmpty)),
  alone(of('redis killed, back with an older snapshot', restoreSnapshot)),
  withReplica(of('redis failed over to a lagging replica', failOver)),
  of('redis full', async ({ server }, random) => {
    await tell(server, (redis) => fill(redis, true));
    await sleep(random.int(2_000, 8_000));
    await tell(server, (redis) => fill(redis, false));
  }),
  of('redis drops every connection', async ({ server }) => {
    await tell(server, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
    await tell(server, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
  }),
  onTheWay('redis slow', async (proxy, random) => {
    proxy.slow(random.int(20, 400));
    await sleep(random.int(3_000, 8_000));
    proxy.slow(0);
  }),
  onTheWay('redis half open', async (proxy, random) => {
    for (const kind of ['data', 'tracker'] as const) if (random.chance(0.7)) proxy.stall(kind);
    await sleep(random.int(3_000, 6_000));
  }),
  onTheWay('redis cut in mid-reply', async (proxy, random) => {
    for (let again = 0; again < 5; again++) {
      proxy.cutReplies(true);
      await sleep(random.int(10, 100));
      proxy.cutReplies(false);
      await sleep(random.int(100, 600));
    }
  }),
];
