import { Cluster, type ClusterOptions } from 'ioredis';

/**
 * An ioredis client of a cluster, given the URL of one node. Its user, password and TLS hold for the others too: by
 * itself ioredis would use them for the first node alone.
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
