import { Cluster, type ClusterOptions } from 'ioredis';
import { noting } from '../net/certificate-ends.ts';
import { addressesOf, credentialsOf } from './redis-settings.ts';

interface Address {
  host: string;
  port: number;
}

/**
 * An ioredis client of a cluster, from the URLs of some nodes. It uses the first URL's user, password and TLS for all nodes;
 * by itself ioredis would use them for the first node only. When it has lost all connections, it also asks the nodes that
 * it knew, because those in the URLs may be gone.
 */
export function ioredisCluster(setting: string, url: string, options: ClusterOptions): Cluster {
  const urls = addressesOf(url).map((one) => new URL(one));
  const redisOptions = { ...options.redisOptions, ...credentialsOf(urls[0]!), ...tlsOf(setting, url) };
  const given: Address[] = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/[[\]]/g, ''),
    port: Number(port || 6379),
  }));
  let known: Address[] = [];
  const clusterRetryStrategy: ClusterOptions['clusterRetryStrategy'] = (times, reason) => {
    // ioredis documents that `startupNodes` may be set here. Its types hide it.
    Object.assign(client, { startupNodes: [...given, ...known] });
    return options.clusterRetryStrategy!(times, reason);
  };
  const all = { ...options, clusterRetryStrategy, redisOptions } as ConstructorParameters<typeof Cluster>[1];
  const client: Cluster = new Cluster(given, all);
  client.on('+node', () => {
    known = client.nodes().map(({ options }) => ({ host: options.host!, port: options.port! }));
  });
  return client;
}

/** ioredis's options for TLS, where the URL wants it. `setting`: the one with the URL. */
export const tlsOf = (setting: string, url: string) => (url.startsWith('rediss:') ? { tls: noting(setting) } : {});
