import type { Cluster } from 'ioredis';
import { afterEach, expect, it } from 'vitest';
import { ioredisCluster } from '../../../infra/redis/ioredis-cluster.ts';

// Clients that never connect: what they would use for each node, and where they would look for nodes.

const clients: Cluster[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});

function clientOf(url: string) {
  const client = ioredisCluster(url, { lazyConnect: true, clusterRetryStrategy: (times) => 7 * times });
  clients.push(client);
  const { options } = client;
  return {
    client,
    options,
    /** As ioredis does when it has lost all connections. */
    retried: () => {
      const delayMs = options.clusterRetryStrategy!(2);
      return { delayMs, asked: (client as unknown as { startupNodes: unknown }).startupNodes };
    },
  };
}

it('all nodes are asked as the first URL says: its user, its password, its TLS', () => {
  const { options } = clientOf('rediss://ada:ty%2Fre@a:7001,redis://b');
  expect(options.redisOptions).toMatchObject({ username: 'ada', password: 'ty/re', tls: {} });
  const plain = clientOf('redis://a:7001,rediss://ada:ty%2Fre@b').options.redisOptions!;
  expect([plain.username, plain.password, plain.tls]).toEqual([undefined, undefined, undefined]);
});

it('a client that has lost all nodes asks those of its URLs again, also by IPv6, and those that it knew', () => {
  const { client, retried } = clientOf('redis://[::1]:7001,redis://b');
  const given = [
    { host: '::1', port: 7001 },
    { host: 'b', port: 6379 },
  ];
  expect(retried()).toEqual({ delayMs: 14, asked: given });
  client.nodes = () => [{ options: { host: 'c', port: 7003 } }] as never;
  client.emit('+node');
  expect(retried()).toEqual({ delayMs: 14, asked: [...given, { host: 'c', port: 7003 }] });
});
