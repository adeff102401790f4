import { type Cluster, Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import type { OwnedEntry, StatePayload, StateStore, Use } from '../../../api/ports/sign-in-state.ts';
import { StoreAwayError } from '../../../api/ports/view-reader.ts';
import { race, within } from '../../../projector/running/stop.ts';
import { ioredisCluster, tlsOf } from '../ioredis-cluster.ts';
import { redisMemory } from '../redis-memory.ts';
import { missingRight, redisAway, redisRefusal, signInRights } from '../redis-refusal.ts';
import { owedReplyMsMax, reconnectDelayMs } from '../redis-settings.ts';
import { signInScripts } from './sign-in-scripts.ts';

interface RedisSignInStateOptions {
  /** AUTH_REDIS_URL. */
  url: string;
  cluster?: boolean;
  /** Comes before every key, such as `ride-calendar:`. */
  keyPrefix?: string;
  /** The longest wait for one command, including a reconnection. */
  commandTimeoutMs?: number;
  /** Called once for each lost connection, and once per connection for each right that is missing. */
  onError?: (error: Error) => void;
}

type ScriptName = keyof typeof signInScripts;
type Client = (Redis | Cluster) & Record<ScriptName, (...args: (string | number)[]) => Promise<unknown>>;

/**
 * Sign-in's state in Redis. An entry is a hash: `p` is its payload as JSON, `a` its account,
 * `u` how often it was used, `f` when it was first used. All keys have one hash tag, so that a script may access several of
 * them in a cluster too. Throws StoreAwayError if Redis cannot be reached in time.
 */
export function redisSignInState(options: RedisSignInStateOptions): StateStore {
  const { commandTimeoutMs = 3000 } = options;
  const redis = connect(options);
  const prefix = `${options.keyPrefix ?? 'ride-calendar:'}{auth}:`;
  const entryKey = (kind: string, id: string): string => `${prefix}e:${kind}:${id}`;
  const accountKey = (account: string): string => `${prefix}a:${account}`;
  const accountsKey = `${prefix}accounts`;

  const connection = watchConnection(redis, options);
  const ask = async <T>(command: () => Promise<T>): Promise<T> => {
    // ioredis keeps commands that were given up, and sends them once it is connected again. An outage would fill memory,
    // and then count attempts that were refused long ago.
    if (connection.lostForMs() > commandTimeoutMs) throw connection.away();
    // The client keeps a command that it cannot send, without a limit of time.
    return within(commandTimeoutMs, (late) => race(late, command())).catch((cause: unknown) => {
      throw connection.away(cause);
    });
  };

  const run = <T = void>(name: ScriptName, ...args: (string | number)[]): Promise<T> =>
    ask(() => redis[name](...args) as Promise<T>);
  const msOf = (seconds: number): number => Math.round(seconds * 1000);

  return {
    put(kind, id, payload, { lifeSeconds, account = '' }) {
      const keys = [entryKey(kind, id), accountKey(account), accountsKey];
      return run('signInPut', ...keys, JSON.stringify(payload), msOf(lifeSeconds), account, `${kind}:${id}`);
    },
    find: async (kind, id) => payloadOf(await ask(() => redis.hget(entryKey(kind, id), 'p'))),
    take: async (kind, id) => payloadOf(await run<string | null>('signInTake', entryKey(kind, id))),
    async use(kind, id, { graceMs, max, limit = { key: '', max: 0, windowMs: 0 } }) {
      const keys = [entryKey(kind, id), `${prefix}c:uses:${limit.key}`];
      const [was, waitMs] = await run<[Use['was'] | 'none', number]>(
        'signInUse',
        ...keys,
        graceMs,
        max,
        limit.max,
        limit.windowMs,
      );
      if (was === 'none') return null;
      return was === 'limited' ? { was, waitMs } : { was };
    },
    // Only entries without an account are extended, so no index needs an update.
    async extend(kind, id, lifeSeconds) {
      await ask(() => redis.pexpire(entryKey(kind, id), msOf(lifeSeconds)));
    },
    async remove(kind, id) {
      await ask(() => redis.del(entryKey(kind, id)));
    },
    async ofAccount(account, wanted) {
      const found: OwnedEntry[] = [];
      for (const member of await ask(() => redis.zrange(accountKey(account), '0', '-1'))) {
        const colon = member.indexOf(':');
        const [kind, id] = [member.slice(0, colon), member.slice(colon + 1)];
        if (wanted !== undefined && kind !== wanted) continue;
        const { p, a } = await ask(() => redis.hgetall(entryKey(kind, id)));
        // The index may still name an entry that is over, was removed, or put again for another account.
        if (a === account) found.push({ kind, id, payload: payloadOf(p)! });
      }
      return found;
    },
    tidyAccount: (account) => run('signInTidyAccount', accountKey(account), accountsKey, account, `${prefix}e:`),
    async *accounts() {
      let cursor = '0';
      do {
        const [next, accounts] = await run<[string, string[]]>('signInAccounts', accountsKey, cursor);
        yield* accounts;
        cursor = next;
      } while (cursor !== '0');
    },
    limiter({ name, points, duration }) {
      const limiter = new RateLimiterRedis({ storeClient: redis, keyPrefix: `${prefix}c:${name}`, points, duration });
      return { penalty: (key, points = 1) => ask(() => limiter.penalty(key, points)) };
    },
    risk: () => ask(() => riskOf(redis)),
    memory: () => ask(() => redisMemory(redis)),
    async close() {
      redis.disconnect();
    },
  };
}

function connect({ url, cluster = false }: RedisSignInStateOptions): Client {
  const common = {
    socketTimeout: owedReplyMsMax,
    // Commands wait out a restart of Redis, as long as `ask` lets them.
    maxRetriesPerRequest: null,
    connectionName: 'ride-calendar-sign-in',
  };
  const client = cluster
    ? ioredisCluster('AUTH_REDIS_URL', url, { redisOptions: common, clusterRetryStrategy: reconnectDelayMs })
    : new Redis(url, { ...common, ...tlsOf('AUTH_REDIS_URL', url), retryStrategy: reconnectDelayMs });
  for (const [name, definition] of Object.entries(signInScripts)) client.defineCommand(name, definition);
  return client as Client;
}

const setting = 'AUTH_REDIS_URL (or, without it, of REDIS_URL)';

/** Says why commands fail. Reports each refusal once, because waiting does not help. */
function watchConnection(redis: Client, { cluster = false, onError = () => undefined }: RedisSignInStateOptions) {
  const asked = { setting, cluster, scriptRights: signInRights };
  let lostAtMs: number | undefined;
  /** Why there is no connection, as far as Redis or the network said. A command that waited in vain gives no reason. */
  let fault: Error | undefined;
  const toldRefusals = new Set<string>();
  const refusalOf = (cause: unknown): string | null => {
    const words = redisRefusal(cause, asked)?.words;
    if (words === undefined) return null;
    if (!toldRefusals.has(words)) onError(new Error(`it ${words}`, { cause }));
    toldRefusals.add(words);
    return words;
  };
  redis.on('close', () => {
    lostAtMs ??= performance.now();
  });
  redis.on('ready', () => {
    lostAtMs = undefined;
    fault = undefined;
    toldRefusals.clear();
  });
  redis.on('error', (error: Error) => {
    if (refusalOf(error) === null && fault === undefined) onError(error);
    fault = error;
  });
  return {
    /** How long there has been no connection. 0: it is open, or opened for the first time just now. */
    lostForMs: () => (lostAtMs === undefined ? 0 : performance.now() - lostAtMs),
    /** The error of a command that failed with `cause`, or was not sent. */
    away(cause: unknown = fault): StoreAwayError {
      for (const one of [cause, fault]) {
        const words = refusalOf(one);
        if (words !== null) return new StoreAwayError(`Sign-in's Redis ${words}`, { cause: one });
      }
      return new StoreAwayError(`Sign-in's Redis (AUTH_REDIS_URL) ${redisAway(cause, fault)}`, { cause });
    },
  };
}

const payloadOf = (text: string | null | undefined): StatePayload | null =>
  typeof text === 'string' ? (JSON.parse(text) as StatePayload) : null;

/** docs/rules.md#sign-in-state */
async function riskOf(redis: Client): Promise<string | null> {
  const info = await redis.info('persistence');
  const memory = await redis.info('memory');
  const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? 'noeviction';
  if (policy !== 'noeviction')
    return `the Redis of sign-in evicts keys when full (maxmemory-policy ${policy}): riders would be signed out at random; set noeviction`;
  if (/aof_enabled:1/.test(info)) return null;
  // Managed servers often have no CONFIG. Then nothing is known about snapshots.
  const save = await redis.config('GET', 'save').catch((error: unknown) => (missingRight(error) ? 'unseen' : null));
  const points = Array.isArray(save) ? String(save[1] ?? '') : save;
  if (points === '')
    return 'the Redis of sign-in has no persistence: its restart signs every rider out and disconnects every app; set appendonly yes';
  return points === null
    ? null
    : 'the Redis of sign-in keeps snapshots at most: a crash loses sign-ins since the last one; set appendonly yes';
}
