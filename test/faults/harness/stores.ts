import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type RedisServer, startRedisServer } from '../../../infra/local/redis-server.ts';
import type { Env } from '../../support/processes/process.ts';
import { startRedisCluster } from '../../support/servers/redis-cluster.ts';
import { type StallingProxy, stallingProxy } from '../../support/servers/stalling-proxy.ts';

export const storeKinds = ['single', 'replica', 'cluster'] as const;
export type StoreKind = (typeof storeKinds)[number];

/** A Redis that a fault may befall: one that takes writes, and its replica if it has one. */
export interface Master {
  /** Its name in the history. */
  name: string;
  server: RedisServer;
  replica: RedisServer | null;
}

/** The Redis of the views. */
export interface Stores {
  kind: StoreKind;
  env: Env;
  masters: Master[];
  /** What stands between the service and Redis. A Redis Cluster tells its nodes' own addresses, so it has none. */
  proxy: StallingProxy | null;
  close(): Promise<void>;
}

export async function startStores(kind: StoreKind): Promise<Stores> {
  if (kind === 'cluster') return startCluster();
  const server = await startRedisServer();
  const replica = kind === 'replica' ? await startRedisServer() : null;
  if (replica) await follow(replica, server);
  const proxy = await stallingProxy(server.url);
  return {
    kind,
    env: { REDIS_URL: proxy.url },
    masters: [{ name: 'redis', server, replica }],
    proxy,
    async close() {
      await proxy.close();
      await Promise.all([server.stop(), replica?.stop()]);
    },
  };
}

async function startCluster(): Promise<Stores> {
  const { url, nodes, replicas, stop } = await startRedisCluster({ replicas: true });
  return {
    kind: 'cluster',
    env: { REDIS_URL: url, REDIS_CLUSTER: 'true' },
    masters: nodes.map((server, i) => ({ name: `redis-${i + 1}`, server, replica: replicas[i]! })),
    proxy: null,
    close: stop,
  };
}

/** Does something to a Redis as an operator would, not through the proxy. */
export async function tell<T>(server: RedisServer, command: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(server.url, { maxRetriesPerRequest: 2 });
  redis.on('error', () => undefined);
  return command(redis).finally(() => redis.disconnect());
}

/** Makes one Redis the replica of another, and waits until it has all of it. */
export async function follow(replica: RedisServer, master: RedisServer): Promise<void> {
  await tell(replica, (redis) => redis.replicaof('127.0.0.1', master.port));
  await untilTold(replica, (said) => said.includes('master_link_status:up'), 'has what its master has');
}

/** Waits for what a Redis says of its replication. */
export async function untilTold(server: RedisServer, holds: (said: string) => boolean, what: string): Promise<void> {
  for (const end = performance.now() + 60_000; ; await sleep(100)) {
    if (await tell(server, (redis) => redis.info('replication')).then(holds, () => false)) return;
    if (performance.now() > end) throw new Error(`The Redis at port ${server.port} never ${what}.`);
  }
}
