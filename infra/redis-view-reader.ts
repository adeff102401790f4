import { Cluster, Redis } from 'ioredis';
import { type ChangeListener, StoreAwayError, type ViewReader } from '../api/view-reader.ts';
import { allTags, completeKey } from '../schemas/view-keys.ts';
import { redisKeys } from './redis-keys.ts';
import { trackChanges } from './redis-tracking.ts';
import type { RedisSettings } from './redis-view-writer.ts';

const commandTimeoutMs = 2_000;

/** Views in Redis, or in a Redis Cluster, read through ioredis: what is asked for in one tick shares a round trip. */
export function redisViewReader(settings: RedisSettings): ViewReader {
  const keys = redisKeys(settings.keyPrefix);
  const client = settings.cluster ? clusterClient(settings.url) : singleClient(settings.url);
  // A lost connection shows as a fault of each command; the event itself needs a listener.
  client.on('error', () => {});
  let stopTracking = (): void => {};

  const away = (cause: unknown): never => {
    throw new StoreAwayError(`Cannot read views: ${(cause as Error).message}`, { cause });
  };
  const get = (names: readonly string[]): Promise<(Buffer | null)[]> =>
    Promise.all(names.map((key) => client.getBuffer(keys.toRedis(key)))).catch(away);

  return {
    get,
    fields: (key, fields) => client.hmgetBuffer(keys.toRedis(key), ...fields).catch(away),
    watch(listener: ChangeListener) {
      stopTracking = trackChanges(client, keys, listener);
    },
    async ready() {
      try {
        const complete = await get(allTags.map(completeKey));
        return complete.every(Boolean) ? { ready: true } : { ready: false, reason: 'the views are not complete yet' };
      } catch {
        return { ready: false, reason: 'Redis cannot be reached' };
      }
    },
    async close() {
      stopTracking();
      client.disconnect();
    },
  };
}

const retryStrategy = (times: number): number => Math.min(50 * 2 ** Math.min(times, 5), 1_000);

function singleClient(url: string): Redis {
  return new Redis(url, {
    enableAutoPipelining: true,
    // A read that can't be answered now gets 503 at once, rather than wait in a queue.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: commandTimeoutMs,
    connectTimeout: 5_000,
    keepAlive: 1_000,
    retryStrategy,
  });
}

function clusterClient(url: string): Cluster {
  const { hostname, port, username, password, protocol } = new URL(url);
  return new Cluster([{ host: hostname, port: Number(port || 6379) }], {
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshTimeout: 2_000,
    redisOptions: {
      maxRetriesPerRequest: 0,
      commandTimeout: commandTimeoutMs,
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  });
}
