import { ClientOfflineError, createClient, createCluster, RESP_TYPES } from 'redis';
import { StoreRefusesError } from '../../projector/ports/view-writer.ts';
import { backgroundClock } from '../../projector/running/clock.ts';
import { race } from '../../projector/running/stop.ts';
import { settledWithin } from '../../projector/running/waiting.ts';
import { noting } from '../net/certificate-ends.ts';
import { OwedReplies } from './owed-replies.ts';
import { redisRefusal, refusesNow } from './redis-refusal.ts';
import { addressesOf, credentialsOf, owedReplyMsMax, type RedisSettings, reconnectDelayMs } from './redis-settings.ts';

const connectTimeoutMs = 5_000;

export type Arg = string | Buffer;
/** The few commands used, on one server or on each master of a cluster. */
export interface RedisConnection {
  /** The tags are spread over several masters: no call reaches two of them. */
  readonly isCluster: boolean;
  /** Sends a command to the master of this key. Bulk replies are Buffers. */
  command(key: string, args: Arg[]): Promise<unknown>;
  /** One function for each master, which sends it a command. */
  masters(): Promise<((args: Arg[]) => Promise<unknown>)[]>;
  close(): Promise<void>;
}

/**
 * The error to throw for one of the client: it says whether to try again. `waits`: yes, where Redis refuses a password or a
 * right, or is full, because an operator may mend that meanwhile.
 */
export function storeErrors({ cluster, waits }: { cluster: boolean; waits: boolean }): Told {
  return (cause) => {
    const refusal = redisRefusal(cause, { setting: 'REDIS_URL', cluster });
    const now = waits ? refusesNow(cause) : null;
    if (refusal === null) return now === null ? cause : new StoreRefusesError(`Redis ${now}`, { retry: true, cause });
    const { words, ends } = refusal;
    if (waits && !ends) return new StoreRefusesError(`Redis ${words}`, { retry: true, cause });
    return new StoreRefusesError(`Cannot keep views in this Redis: it ${words}`, { retry: false, cause });
  };
}

/** A connection for commands made by hand, through node-redis. `waits`: as of `storeErrors`. */
export function redisConnection(settings: RedisSettings, { waits = false } = {}) {
  const { url, cluster } = settings;
  const told = storeErrors({ cluster, waits });
  return cluster ? clusterConnection(addressesOf(url), told) : singleConnection(url, told);
}

/** Runs work over a connection to the store. Throws with the reason where Redis cannot be reached. */
export async function withRedis<T>(
  settings: RedisSettings,
  work: (connection: RedisConnection) => Promise<T>,
): Promise<T> {
  const connection = await redisConnection(settings);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

type Told = (cause: unknown) => unknown;

const typeMapping = { [RESP_TYPES.BLOB_STRING]: Buffer } as const;
// A new object for each client, because the client writes into it.
const clientOptions = () => ({
  socket: {
    ...noting('REDIS_URL'),
    reconnectStrategy: reconnectDelayMs,
    connectTimeout: connectTimeoutMs,
    // Counts from the last byte in either direction, as `OwedReplies` does not. Pings keep an idle connection from being silent
    // for so long.
    socketTimeout: owedReplyMsMax,
  },
  pingInterval: 1_000,
  // A command that cannot be sent now fails at once. A caller that can wait tries again.
  disableOfflineQueue: true,
  // It would end no command that is sent already, and is a signal for each command, which costs as much as the command.
  commandOptions: { timeout: 0 },
});

/** Why nothing can be sent, from what a client said last. */
function awayError(fault: unknown, url: string, told: Told): unknown {
  const refused = told(fault);
  if (refused instanceof StoreRefusesError) return refused;
  const { message, code } = fault as NodeJS.ErrnoException;
  const hint =
    code === 'ECONNRESET' && url.startsWith('redis:') ? '; if it wants TLS, write rediss:// in REDIS_URL' : '';
  return new Error(`Redis cannot be reached: ${message}${hint}`, { cause: fault });
}

async function singleConnection(url: string, told: Told): Promise<RedisConnection> {
  let fault: unknown = new Error('not connected yet');
  const create = () => {
    const client = createClient({ url, RESP: 2, ...clientOptions() });
    client.on('error', (error) => {
      if (client.isOpen) fault = error;
    });
    const owed = new OwedReplies(owedReplyMsMax, (silent) => {
      fault = silent;
      client.destroy();
      current = create();
    });
    const connecting = client.connect().catch(() => {});
    return { client, typed: client.withTypeMapping(typeMapping), owed, connecting };
  };
  let current: ReturnType<typeof create> = create();
  const send = async (args: Arg[]): Promise<unknown> => {
    const { client, typed, owed } = current;
    if (!client.isReady) throw awayError(fault, url, told);
    return owed.wait('', typed.sendCommand(args)).catch((error: unknown) => {
      throw told(error);
    });
  };
  // After the first failure the connection is returned too: a command asks once and tells the reason, a process tries again.
  const { client, connecting } = current;
  const failed = new Promise((resolve) => client.once('error', resolve));
  await settledWithin(race(null, connecting, failed), connectTimeoutMs, backgroundClock);
  return {
    isCluster: false,
    command: (_key, args) => send(args),
    masters: async () => [send],
    close: async () => current.client.destroy(),
  };
}

// A master that owes replies loses its own connection first. This is for one that others keep alive, and for a search for
// masters that waits for one of them.
const clusterSilentMsMax = 2 * owedReplyMsMax;

async function clusterConnection(urls: readonly string[], told: Told): Promise<RedisConnection> {
  let fault: unknown = new Error('not connected yet');
  const create = () => {
    const noted = (error: unknown): void => {
      if (client.isOpen) fault = error;
    };
    const client = clusterClient(urls).on('error', noted).on('node-error', noted);
    const owed = new OwedReplies(clusterSilentMsMax, (silent) => {
      fault = silent;
      anew();
    });
    return { client, typed: client.withTypeMapping(typeMapping), owed };
  };
  // A client goes on waiting for every master, also for one that is gone for good. A new one asks who they are now.
  const anew = (): void => {
    if (current.client.isOpen) current.client.destroy();
    current = create();
    connected = null;
  };
  let current: ReturnType<typeof create> = create();
  const connectMsMax = (urls.length + 1) * connectTimeoutMs;
  /** One attempt. Everyone who waits for it gets its error. */
  const connect = async (): Promise<void> => {
    const { client } = current;
    await settledWithin(client.connect(), connectMsMax, backgroundClock);
    if (client.isReady) return;
    anew();
    throw awayError(fault, urls[0]!, told);
  };
  // Unlike a single client, a cluster client that failed to connect does not retry by itself.
  let connected: Promise<void> | null = null;
  const ready = (): Promise<void> => {
    connected ??= connect();
    return connected;
  };
  const failed = (error: unknown): never => {
    throw error instanceof ClientOfflineError ? awayError(fault, urls[0]!, told) : told(error);
  };
  return {
    isCluster: true,
    async command(key, args) {
      await ready();
      const { typed, owed } = current;
      // Keys with the same hash tag are on the same master.
      return owed.wait(/\{([^}]+)\}/.exec(key)?.[1] ?? key, typed.sendCommand(key, false, args)).catch(failed);
    },
    async masters() {
      await ready();
      const { client, owed } = current;
      return client.masters.map((node) => async (args: Arg[]) => {
        const asked = client.nodeClient(node).then((to) => to.withTypeMapping(typeMapping).sendCommand(args));
        return owed.wait(node.address, asked).catch(failed);
      });
    },
    close: async () => {
      if (current.client.isOpen) current.client.destroy();
    },
  };
}

/** A client that learns the nodes from the first URL that answers, and finds the masters through them from then on. */
function clusterClient(urls: readonly string[]) {
  const first = new URL(urls[0]!);
  const { socket, ...options } = clientOptions();
  // The defaults are for the nodes that it discovers. The first ones' settings are in their URLs.
  const defaults = {
    ...options,
    ...credentialsOf(first),
    socket: { ...socket, ...(first.protocol === 'rediss:' && { tls: true as const }) },
  };
  return createCluster({ rootNodes: urls.map((url) => ({ url })), defaults, RESP: 2 });
}

// Another program may have written a key of ours with another type. That stops nothing: the key counts as absent, or is
// replaced (docs/rules.md#complete).

/** Whether a command failed because its key has another type than it wants. */
export const isOtherType = (error: Error): boolean => error.message.startsWith('WRONGTYPE');

/** For `catch`: null where a key has another type. Other errors are thrown on. */
export function nullIfOtherType(error: Error): null {
  if (isOtherType(error)) return null;
  throw error;
}

/** The texts of some keys of one tag, at one moment. Null: a key is absent, or of another type: for that GET would fail. */
export async function readTexts(connection: RedisConnection, ...keys: string[]): Promise<(string | null)[]> {
  const found = (await connection.command(keys[0]!, ['MGET', ...keys])) as (Buffer | null)[];
  return found.map((text) => text?.toString() ?? null);
}

export const readText = async (connection: RedisConnection, key: string): Promise<string | null> =>
  (await readTexts(connection, key))[0]!;

/** Whether an open list says that the views of its tag must be compared. One of another type is found by the next batch. */
export const saysCompare = async (connection: RedisConnection, open: string): Promise<boolean> =>
  (await connection.command(open, ['ZSCORE', open, 'compare']).catch(nullIfOtherType)) !== null;

/** Asks the master that the keys were found on. */
type Master = (args: Arg[]) => Promise<unknown>;

interface ScanOptions {
  /** Names begin with this text. It is no pattern. */
  prefix: string;
  /** Names contain this text after the prefix. It is no pattern. */
  within?: string;
  /** About how many keys Redis looks at for one step. */
  count?: number;
  signal?: AbortSignal;
}

/** The names of keys, some at a time, master by master. A name may come twice. Throws the signal's reason. */
export async function* scanKeys(
  connection: RedisConnection,
  { prefix, within = '', count = 1_000, signal }: ScanOptions,
): AsyncIterable<{ master: Master; names: Buffer[] }> {
  const pattern = `${literal(prefix)}*${within && `${literal(within)}*`}`;
  for (const master of await connection.masters()) {
    let cursor = '0';
    do {
      signal?.throwIfAborted();
      const found = await master(['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(count)]);
      const [next, names] = found as [Buffer, Buffer[]];
      cursor = next.toString();
      yield { master, names };
    } while (cursor !== '0');
  }
}

const literal = (text: string): string => text.replace(/[[\]*?\\]/g, '\\$&');
