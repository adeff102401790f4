import { Cluster, type ClusterOptions } from 'ioredis';

/**
 * An ioredis client of a cluster, from the URL of one node. Its user, password and TLS are used for the other nodes
 * too; by itself ioredis uses them for the first node only.
 */
export function redisClusterClient(url: string, options: ClusterOptions): Cluster {
  const { hostname, port, username, password, protocol } = new URL(url);
  const redisOptions = { ...options.redisOptions };
  if (username) redisOptions.username = decodeURIComponent(username);
  if (password) redisOptions.password = decodeURIComponent(password);
  if (protocol === 'rediss:') redisOptions.tls = {};
  const node = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) };
  return new Cluster([node], { ...options, redisOptions } as ConstructorParameters<typeof Cluster>[1]);
}
