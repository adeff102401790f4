import { createClient, createCluster, RESP_TYPES } from 'redis';
import { backgroundClock } from '../../projector/ports/clock.ts';
import { settledWithin } from '../../projector/ports/waiting.ts';
import { redisRefusal } from './redis-refusal.ts';

const commandTimeoutMs = 10_000;
const connectTimeoutMs = 5_000;

export interface RedisSettings {
  /** `redis://…` or `rediss://…`. For a cluster, the URL of any node. */
  url: string;
  cluster: boolean;
  /** Comes before every key. */
  keyPrefix: string;
}

export type Arg = string | Buffer;
/** The few commands used, on one server or on each master of a cluster. */
export interface RedisConnection {
  /** A command that is routed by its first key. Bulk replies are Buffers. */
  command(key: string, args: Arg[]): Promise<unknown>;
  /** What asks each master. */
  masters(): Promise<((args: Arg[]) => Promise<unknown>)[]>;
  close(): Promise<void>;
}

/** A store whose settings would lose views silently. Retrying is pointless. */
export class UnfitStoreError extends Error {
  override name = 'UnfitStoreError';
  readonly retry = false;
}

/** A connection for commands made by hand, through node-redis. */
export const redisConnection = ({ url, cluster }: RedisSettings): Promise<RedisConnection> =>
  cluster ? clusterConnection(url) : singleConnection(url);

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

const typeMapping = { [RESP_TYPES.BLOB_STRING]: Buffer } as const;
// A new object for each client, because the client writes into it.
const socketOptions = () => ({
  reconnectStrategy: (retries: number) => Math.min(50 * 2 ** Math.min(retries, 6), 2_000),
  connectTimeout: connectTimeoutMs,
  // Closes a connection that has gone silent, so that a half-open one is noticed.
  socketTimeout: commandTimeoutMs,
});
const pingInterval = 3_000;
// The socket's time limit ends what waits. A time limit of each command is a signal, which costs as much as the command.
const commandOptions = { timeout: 0 };

function unlessMisfit(cause: unknown): unknown {
  const refusal = redisRefusal(cause, 'REDIS_URL');
  return refusal ? new UnfitStoreError(`Cannot keep views in this Redis: it ${refusal}`, { cause }) : cause;
}

async function singleConnection(url: string): Promise<RedisConnection> {
  const client = createClient({
    url,
    RESP: 2,
    socket: socketOptions(),
    pingInterval,
    disableOfflineQueue: true,
    commandOptions,
  });
  let fault: unknown = new Error('not connected yet');
  client.on('error', (error) => {
    fault = error;
  });
  const connecting = client.connect().catch(() => {});
  const typed = client.withTypeMapping(typeMapping);
  const send = async (args: Arg[]): Promise<unknown> => {
    if (!client.isReady) {
      const cause = unlessMisfit(fault);
      if (cause instanceof UnfitStoreError) throw cause;
      const { message, code } = fault as NodeJS.ErrnoException;
      const hint =
        code === 'ECONNRESET' && url.startsWith('redis:') ? '; if it wants TLS, write rediss:// in REDIS_URL' : '';
      throw new Error(`Redis cannot be reached: ${message}${hint}`, { cause });
    }
    return typed.sendCommand(args).catch((error: unknown) => {
      throw unlessMisfit(error);
    });
  };
  // The first failure says why. Who can go on without waits by trying again; a tool asks once.
  const failed = new Promise((resolve) => client.once('error', resolve));
  await settledWithin(Promise.race([connecting, failed]), connectTimeoutMs, backgroundClock);
  return {
    command: (_key, args) => send(args),
    masters: async () => [send],
    close: async () => client.destroy(),
  };
}

async function clusterConnection(url: string): Promise<RedisConnection> {
  const { username, password, protocol } = new URL(url);
  // For the nodes that it discovers. The first node's settings are in the URL.
  const socket = { ...socketOptions(), ...(protocol === 'rediss:' && { tls: true as const }) };
  const auth = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  };
  const cluster = createCluster({
    rootNodes: [{ url }],
    defaults: { ...auth, socket, pingInterval },
    RESP: 2,
    commandOptions,
  });
  let fault: unknown = null;
  cluster.on('error', (error) => {
    fault = error;
  });
  // What a failed attempt says, to everyone who waits for it.
  const connect = async (): Promise<void> => {
    try {
      await cluster.connect();
    } catch (error) {
      connected = null;
      const { message } = error as Error;
      throw fault === null
        ? error
        : unlessMisfit(new Error(`${message}: ${(fault as Error).message}`, { cause: fault }));
    }
  };
  // Unlike a single client, a cluster client that failed to connect does not retry by itself.
  let connected: Promise<void> | null = null;
  const ready = (): Promise<void> => {
    connected ??= connect();
    return connected;
  };
  const typed = cluster.withTypeMapping(typeMapping);
  const masters = async (): Promise<((args: Arg[]) => Promise<unknown>)[]> => {
    await ready();
    return cluster.masters.map((node) => async (args: Arg[]) => {
      const client = await cluster.nodeClient(node);
      return client.withTypeMapping(typeMapping).sendCommand(args);
    });
  };
  return {
    async command(key, args) {
      await ready();
      return typed.sendCommand(key, false, args);
    },
    masters,
    close: async () => {
      if (cluster.isOpen) cluster.destroy();
    },
  };
}

// A key of ours that somebody else wrote with another type stops nothing: it counts as absent, or as to be replaced.

/** Whether a command failed since its key has another type than it wants. */
export const isOtherType = (error: Error): boolean => error.message.startsWith('WRONGTYPE');

/** For `catch`: null where a key has another type. Other errors are thrown on. */
export function nullIfOtherType(error: Error): null {
  if (isOtherType(error)) return null;
  throw error;
}

/** A key's text. Null: it is absent, or of another type, which `onOther` is told. */
export async function readText(
  connection: RedisConnection,
  key: string,
  onOther?: (key: string) => void,
): Promise<string | null> {
  const otherType = (error: Error): null => {
    if (isOtherType(error)) onOther?.(key);
    return nullIfOtherType(error);
  };
  const value = (await connection.command(key, ['GET', key]).catch(otherType)) as Buffer | null;
  return value?.toString() ?? null;
}

/** Asks the master that the keys were found on. */
type Master = (args: Arg[]) => Promise<unknown>;

interface ScanOptions {
  /** What names begin with, as it stands: no pattern. */
  prefix: string;
  /** What stands somewhere behind that, as it stands. */
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
