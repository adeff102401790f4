import { createHash } from 'node:crypto';
import { createClient, createCluster, RESP_TYPES } from 'redis';
import { backgroundClock } from '../../projector/ports/clock.ts';
import type { CommitResult, StoredView, ViewWrite, ViewWriter } from '../../projector/ports/view-writer.ts';
import { settledWithin } from '../../projector/ports/waiting.ts';
import { digestLength, positionTag } from '../../schemas/views/view-keys.ts';
import { type RedisKeys, redisKeys } from './redis-keys.ts';
import { redisRefusal } from './redis-refusal.ts';
import { commitScript, raiseScript, refenceScript } from './redis-scripts.ts';

const commandTimeoutMs = 10_000;
const scanCount = 1_000;

export interface RedisSettings {
  /** `redis://…` or `rediss://…`. For a cluster, the URL of any node. */
  url: string;
  cluster: boolean;
  /** Comes before every key. */
  keyPrefix: string;
}

type Arg = string | Buffer;
/** The few commands used, on one server or on each master of a cluster. */
interface Connection {
  /** A command that is routed by its first key. Bulk replies are Buffers. */
  command(key: string, args: Arg[]): Promise<unknown>;
  /** The same command on every master. */
  onMasters(args: Arg[]): Promise<unknown[]>;
  masters(): Promise<((args: Arg[]) => Promise<unknown>)[]>;
  close(): Promise<void>;
}

/** A store whose settings would lose views silently. Retrying is pointless. */
export class UnfitStoreError extends Error {
  override name = 'UnfitStoreError';
  readonly retry = false;
}

/** Views in Redis, or in a Redis Cluster, written with node-redis. A batch is one script call on one tag. */
export async function redisViewWriter(settings: RedisSettings): Promise<ViewWriter> {
  const connection = settings.cluster ? await clusterConnection(settings.url) : await singleConnection(settings.url);
  const keys = redisKeys(settings.keyPrefix);
  const script = scriptCaller(connection);
  let epoch = 0;
  const sequences = new Map<number, number>();

  const commitResult = (tag: number, reply: unknown, sequence: number): CommitResult => {
    if (reply === 1) {
      sequences.set(tag, sequence);
      return { committed: true };
    }
    return { committed: false, reason: epochOf(String(reply)) > epoch ? 'fenced' : 'lost' };
  };

  return {
    async lead(tags) {
      await checkFitness(connection);
      const fences = await Promise.all(
        tags.map(async (tag) =>
          epochOf(
            String((await connection.command(keys.fence(tag), ['GET', keys.fence(tag)]).catch(nullIfOtherType)) ?? ''),
          ),
        ),
      );
      const [seconds, micros] = ((await connection.command(keys.fence(0), ['TIME'])) as Buffer[]).map(Number);
      epoch = Math.max(seconds! * 1000 + Math.floor(micros! / 1000), ...fences.map((fence) => fence + 1));
      for (const tag of tags) {
        const reply = await script(raiseScript, [keys.fence(tag)], [String(epoch)]);
        // If our own raise is retried after a lost reply, it finds our own epoch.
        if (reply !== 1 && epochOf(String(reply)) > epoch) throw new Error('another projector is taking over');
        sequences.set(tag, 0);
      }
    },
    async refence(tag) {
      const sequence = (sequences.get(tag) ?? 0) + 1;
      const names = [keys.fence(tag), keys.of(tag, 'complete', '')];
      return commitResult(tag, await script(refenceScript, names, [String(epoch), String(sequence)]), sequence);
    },
    async commit(tag, writes) {
      const sequence = sequences.get(tag) ?? 0;
      const args: Arg[] = [`${epoch}:${sequence}`, `${epoch}:${sequence + 1}`];
      const names = [keys.fence(tag)];
      for (const write of writes) {
        const name = keys.of(tag, write.kind, write.id);
        for (const operation of operations(write)) {
          names.push(name);
          args.push(...operation);
        }
      }
      return commitResult(tag, await script(commitScript, names, args), sequence + 1);
    },
    async position() {
      const name = keys.of(positionTag, 'position', '');
      const value = (await connection.command(name, ['GET', name]).catch(nullIfOtherType)) as Buffer | null;
      return value?.toString() ?? null;
    },
    list: (tags) => list(connection, keys, new Set(tags)),
    close: () => connection.close(),
  };
}

const epochOf = (fence: string): number => Number(/^\d+/.exec(fence)?.[0] ?? 0);

// Lua passes about 8,000 arguments to one command at most.
const fieldsPerOperation = 1_000;

/** The operations of a write, as commitScript takes them. A write is one operation, except for a rider's fields. */
function* operations(write: ViewWrite): Generator<Arg[]> {
  if (write.kind !== 'reader') {
    yield write.value ? ['s', write.value] : ['d'];
    return;
  }
  if (write.replaces) yield ['d'];
  const set = write.fields.filter(({ value }) => value !== null);
  const removed = write.fields.filter(({ value }) => value === null);
  for (let i = 0; i < set.length; i += fieldsPerOperation) {
    const some = set.slice(i, i + fieldsPerOperation);
    yield ['h', String(2 * some.length), ...some.flatMap(({ field, value }) => [field, value!])];
  }
  for (let i = 0; i < removed.length; i += fieldsPerOperation) {
    const some = removed.slice(i, i + fieldsPerOperation);
    yield ['r', String(some.length), ...some.map(({ field }) => field)];
  }
}

/** EVALSHA, and EVAL if the server does not know the script. */
function scriptCaller(connection: Connection) {
  return async (source: string, names: string[], args: Arg[]): Promise<unknown> => {
    const sha = createHash('sha1').update(source).digest('hex');
    const tail = [String(names.length), ...names, ...args];
    try {
      return await connection.command(names[0]!, ['EVALSHA', sha, ...tail]);
    } catch (cause) {
      if (!(cause as Error).message.startsWith('NOSCRIPT')) throw cause;
      return connection.command(names[0]!, ['EVAL', source, ...tail]);
    }
  };
}

/** With any policy but noeviction, Redis drops views silently. */
async function checkFitness(connection: Connection): Promise<void> {
  for (const info of await connection.onMasters(['INFO', 'memory'])) {
    const policy = /maxmemory_policy:(\S+)/.exec(String(info))?.[1];
    if (policy !== undefined && policy !== 'noeviction') {
      throw new UnfitStoreError(
        `Cannot keep views in this Redis: maxmemory-policy is ${policy}, want noeviction (CONFIG SET maxmemory-policy noeviction)`,
      );
    }
  }
}

async function* list(connection: Connection, keys: RedisKeys, tags: ReadonlySet<number>): AsyncIterable<StoredView> {
  const only = tags.size === 1 ? `{v${[...tags][0]}}*` : '*';
  for (const master of await connection.masters()) {
    let cursor = '0';
    do {
      const pattern = `${keys.prefix.replace(/[[\]*?\\]/g, '\\$&')}*${only}`;
      const [next, names] = (await master(['SCAN', cursor, 'MATCH', pattern, 'COUNT', String(scanCount)])) as [
        Buffer,
        Buffer[],
      ];
      cursor = next.toString();
      const wanted = names.flatMap((found) => {
        const name = found.toString();
        const view = keys.viewOf(name);
        return view && tags.has(view.tag) ? [{ name, view }] : [];
      });
      // All commands are sent at once and share a round trip.
      yield* await Promise.all(wanted.map(({ name, view }) => stored(connection, name, view)));
    } while (cursor !== '0');
  }
}

/** A key of ours that somebody else wrote with another type: as good as absent, and to be replaced. */
function nullIfOtherType(error: Error): null {
  if (error.message.startsWith('WRONGTYPE')) return null;
  throw error;
}

type NamedView = NonNullable<ReturnType<RedisKeys['viewOf']>>;

async function stored(connection: Connection, name: string, { tag, kind, id }: NamedView): Promise<StoredView> {
  if (kind !== 'reader') {
    const read = connection.command(name, ['GETRANGE', name, '0', String(digestLength - 1)]);
    const digest = (await read.catch(nullIfOtherType)) as Buffer | null;
    return { tag, kind, id, digest: digest?.toString('latin1') ?? null };
  }
  const flat = (await connection.command(name, ['HGETALL', name]).catch(nullIfOtherType)) as Buffer[] | null;
  if (flat === null) return { tag, kind, id, fields: null };
  const fields = new Map<string, Buffer>();
  for (let i = 0; i < flat.length; i += 2) fields.set(flat[i]!.toString(), flat[i + 1]!);
  return { tag, kind, id, fields };
}

const typeMapping = { [RESP_TYPES.BLOB_STRING]: Buffer } as const;
// A new object for each client, because the client writes into it.
const socketOptions = () => ({
  reconnectStrategy: (retries: number) => Math.min(50 * 2 ** Math.min(retries, 6), 2_000),
  connectTimeout: 5_000,
  // Closes a connection that has gone silent, so that a half-open one is noticed.
  socketTimeout: commandTimeoutMs,
});
const pingInterval = 3_000;

function unlessMisfit(cause: unknown): unknown {
  const refusal = redisRefusal(cause, 'REDIS_URL');
  return refusal ? new UnfitStoreError(`Cannot keep views in this Redis: it ${refusal}`, { cause }) : cause;
}

async function singleConnection(url: string): Promise<Connection> {
  const client = createClient({ url, RESP: 2, socket: socketOptions(), pingInterval, disableOfflineQueue: true });
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
  await settledWithin(connecting, 1_000, backgroundClock);
  return {
    command: (_key, args) => send(args),
    onMasters: async (args) => [await send(args)],
    masters: async () => [send],
    close: async () => client.destroy(),
  };
}

async function clusterConnection(url: string): Promise<Connection> {
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
  });
  let fault: unknown = null;
  cluster.on('error', (error) => {
    fault = error;
  });
  let connected: Promise<unknown> | null = null;
  // Unlike a single client, a cluster client that failed to connect does not retry by itself.
  const ready = async (): Promise<void> => {
    if (cluster.isOpen && connected) await connected;
    else {
      connected = cluster.connect();
      await connected.catch((cause: Error) => {
        connected = null;
        throw fault === null
          ? cause
          : unlessMisfit(new Error(`${cause.message}: ${(fault as Error).message}`, { cause: fault }));
      });
    }
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
    onMasters: async (args) => Promise.all((await masters()).map((send) => send(args))),
    masters,
    close: async () => {
      if (cluster.isOpen) cluster.destroy();
    },
  };
}
