import { Cluster, Redis } from 'ioredis';
import type { ChangeListener, StoreAwayError, ViewReader } from '../../../api/ports/view-reader.ts';
import { Stop } from '../../../projector/running/stop.ts';
import { readerKey } from '../../../schemas/views/reader-fields.ts';
import { allTags, completeKey } from '../../../schemas/views/view-keys.ts';
import { ioredisCluster, tlsOf } from '../ioredis-cluster.ts';
import { redisReadGuard } from '../leadership/read-guard.ts';
import { watchUnledTags } from '../leadership/unled-tags.ts';
import { redisKeys } from '../redis-keys.ts';
import { redisMemory } from '../redis-memory.ts';
import { missingRights, redisAway, redisRefusal } from '../redis-refusal.ts';
import { owedReplyMsMax, type RedisSettings, reconnectDelayMs } from '../redis-settings.ts';
import { guardedReads } from './guarded-reads.ts';
import { type Tracking, trackChanges } from './track-changes.ts';

/** Views in Redis, or in a Redis Cluster, read with ioredis. Reads in one tick share a round trip. */
export function redisViewReader(settings: RedisSettings): ViewReader {
  const keys = redisKeys(settings.keyPrefix);
  const client = viewClient(settings);
  // Without a connection each command fails. The reason is in the event.
  let fault: unknown = null;
  client.on('error', (error) => {
    fault = error;
  });
  client.on('ready', () => {
    fault = null;
  });
  const guard = redisReadGuard(client, settings.keyPrefix);
  const closing = new Stop();
  const unledTags = watchUnledTags(client, keys, closing.signal);
  let tracking: Tracking | null = null;

  /** Sends every command once, so that a missing right is known before a request needs it. */
  const missing = async (): Promise<string | null> => {
    const key = keys.toRedis(completeKey(0));
    const hash = keys.toRedis(readerKey('probe'));
    const sent = [client.mget(key), client.get(key), client.hmget(hash, 'probe'), client.info('server')];
    const replies = (await Promise.allSettled(sent)) as { reason?: unknown }[];
    return missingRights([...replies.map(({ reason }) => reason), tracking?.refused()]);
  };
  const reads = guardedReads({
    commands: {
      get: (names) => client.mgetBuffer(names.map((name) => keys.toRedis(name))),
      // Of a key with another type MGET says null, as of an absent one. GET rejects.
      again: (names) => Promise.all(names.map((name) => client.getBuffer(keys.toRedis(name)))),
      fields: (key, names) => client.hmgetBuffer(keys.toRedis(key), ...names),
    },
    guard,
    isCluster: client instanceof Cluster,
  });

  return {
    get: reads.get,
    fields: reads.fields,
    listen(listener: ChangeListener) {
      tracking = trackChanges(client, keys, listener);
    },
    noticePause: () => tracking?.noticePause(),
    unledTags,
    memory: () => redisMemory(client),
    // docs/rules.md#ready-api
    async ready() {
      const lacking = missing();
      try {
        if (!(await reads.areComplete(allTags))) return { ready: false, reason: notComplete };
        if (!guard.formats.current) return { ready: false, reason: guard.formats.reason ?? notComplete };
        const note = await lacking;
        return { ready: true, ...(note !== null && { note }) };
      } catch (error) {
        const asked = { setting: 'REDIS_URL', cluster: settings.cluster };
        const refusal = redisRefusal(fault, asked) ?? redisRefusal(error, asked);
        if (refusal) return { ready: false, reason: `Redis ${refusal.words}` };
        const isUnsure = (error as StoreAwayError).cause === undefined && client.status === 'ready';
        const away = `Redis ${redisAway(error, fault)}`;
        return { ready: false, reason: (await lacking) ?? (isUnsure ? notComplete : away) };
      }
    },
    async close() {
      guard.close();
      closing.end();
      tracking?.stop();
      client.disconnect();
    },
  };
}

const notComplete = 'the views are not complete yet';

// A read that cannot be answered now gets 503 at once. It does not wait in a queue.
const readsAtOnce = { enableAutoPipelining: true, enableOfflineQueue: false };
const limits = { maxRetriesPerRequest: 0, commandTimeout: 2_000, socketTimeout: owedReplyMsMax };

function viewClient({ url, cluster }: RedisSettings): Redis | Cluster {
  return cluster
    ? ioredisCluster('REDIS_URL', url, {
        ...readsAtOnce,
        clusterRetryStrategy: reconnectDelayMs,
        slotsRefreshTimeout: 2_000,
        redisOptions: limits,
      })
    : new Redis(url, {
        ...readsAtOnce,
        ...limits,
        ...tlsOf('REDIS_URL', url),
        connectTimeout: 5_000,
        keepAlive: 1_000,
        retryStrategy: reconnectDelayMs,
      });
}
