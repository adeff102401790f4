import { expect, it } from 'vitest';
import { ioredisCluster } from '../../../infra/redis/ioredis-cluster.ts';

// A client that never connects: test/e2e/redis-cluster-failover.e2e.test.ts has those that do.
it('a client that has lost all nodes asks those of its URLs again, also by IPv6, and those that it knew', () => {
  const client = ioredisCluster('REDIS_URL', 'redis://[::1]:7001,redis://b', {
    lazyConnect: true,
    clusterRetryStrategy: () => 7,
  });
  const { options } = client;
  /** As ioredis does when it has lost all connections. */
  const retried = () => [
    options.clusterRetryStrategy!(2),
    (client as unknown as { startupNodes: unknown }).startupNodes,
  ];
  const given = [
    { host: '::1', port: 7001 },
    { host: 'b', port: 6379 },
  ];
  expect(retried()).toEqual([7, given]);
  client.nodes = () => [{ options: { host: 'c', port: 7003 } }] as never;
  client.emit('+node');
  expect(retried()).toEqual([7, [...given, { host: 'c', port: 7003 }]]);
  client.disconnect();
});
