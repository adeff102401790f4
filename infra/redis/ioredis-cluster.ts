import { Cluster, type ClusterOptions } from 'ioredis';
import { addressesOf } from './redis-settings.ts';

interface Address {
  host: string;
  port: number;
}

/**
 * An ioredis client of a cluster, from the URLs of some nodes. The first one's user, password and TLS are used for all
 * nodes; by itself ioredis uses them for the first node only. A client that loses all connections asks the nodes that it
 * knew as well: those of the URLs may be gone.
 */
export function ioredisCluster(url: string, options: ClusterOptions): Cluster {
  const urls = addressesOf(url).map((one) => new URL(one));
  const { username, password, protocol } = urls[0]!;
  const redisOptions = { ...options.redisOptions };
  if (username) redisOptions.username = decodeURIComponent(username);
  if (password) redisOptions.password = decodeURIComponent(password);
  if (protocol === 'rediss:') redisOptions.tls = {};
  const given: Address[] = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
  }));
  let known: Address[] = [];
  const clusterRetryStrategy: ClusterOptions['clusterRetryStrategy'] = (times, reason) => {
    // ioredis documents this place, to name other nodes to begin with; its types hide it.
    Object.assign(client, { startupNodes: [...given, ...known] });
    return options.clusterRetryStrategy?.(times, reason);
  };
  const all = { ...options, clusterRetryStrategy, redisOptions } as ConstructorParameters<typeof Cluster>[1];
  const client: Cluster = new Cluster(given, all);
  client.on('+node', () => {
    known = client.nodes().map(({ options }) => ({ host: options.host!, port: options.port! }));
  });
  return client;
}
