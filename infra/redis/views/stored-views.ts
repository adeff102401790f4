import { randomUUID } from 'node:crypto';
import type { LiveViews } from '../../../projector/ports/live-views.ts';
import type { StoredName, StoredView } from '../../../projector/ports/view-writer.ts';
import { allTags, tagCount } from '../../../schemas/views/view-keys.ts';
import { digestLength } from '../../../schemas/views/view-values.ts';
import {
  type Arg,
  isOtherType,
  nullIfOtherType,
  type RedisConnection,
  readText,
  redisConnection,
  saysCompare,
  scanKeys,
} from '../redis-connection.ts';
import { beating, type RedisKeys, redisKeys } from '../redis-keys.ts';
import type { RedisSettings } from '../redis-settings.ts';

// Keys that a step of SCAN finds and reads, nearly. What a leader writes meanwhile waits for them, so of whole values they
// are fewer.
const keysPerStep = 250;
const wholeKeysPerStep = 50;
// So many keys block Redis for less than a millisecond.
const scanCountMax = 1_000;

interface ListOptions {
  /** -1: keys in no tag. */
  tags: ReadonlySet<number>;
  /** Whole values, not only their digests. */
  whole: boolean;
}

/** Every view of the generation in some tags, and every key there that should not exist (redis-keys.ts, placeOf). */
export async function* listStored(
  connection: RedisConnection,
  keys: RedisKeys,
  { tags, whole }: ListOptions,
): AsyncIterable<StoredView> {
  const within = tags.size === 1 && !tags.has(-1) ? `{v${[...tags][0]}}` : '';
  const keysOfAll = ((whole ? wholeKeysPerStep : keysPerStep) * tagCount) / tags.size;
  const count = Math.ceil(Math.min(scanCountMax, keysOfAll));
  for await (const { names } of scanKeys(connection, { prefix: keys.prefix, within, count })) {
    const wanted = names.flatMap((key) => {
      // A command can't name a key that is not UTF-8: nothing is found under what its name becomes.
      const name = keys.placeOf(key.toString());
      return name && tags.has(name.tag) ? [name] : [];
    });
    // All commands are sent at once and share a round trip. A key that has gone meanwhile is left out.
    const stored = await Promise.all(wanted.map((name) => read(connection, keys, name, whole)));
    yield* stored.filter((view) => view !== null);
  }
}

/** What is stored under these names, with whole values; null: nothing. */
export function readStored(
  connection: RedisConnection,
  keys: RedisKeys,
  names: readonly StoredName[],
): Promise<(StoredView | null)[]> {
  return Promise.all(names.map((name) => read(connection, keys, name, true)));
}

async function read(
  connection: RedisConnection,
  keys: RedisKeys,
  { tag, kind, id }: StoredName,
  whole: boolean,
): Promise<StoredView | null> {
  const name = keys.of(tag, kind, id);
  const ask = (...args: Arg[]) => connection.command(name, args).catch(otherType);
  if (kind === 'reader') {
    const flat = (await ask('HGETALL', name)) as Buffer[] | 'other type';
    if (flat === 'other type') return { tag, kind, id, fields: null };
    if (flat.length === 0) return null;
    const fields = new Map<string, Buffer>();
    for (let i = 0; i < flat.length; i += 2) fields.set(flat[i]!.toString(), flat[i + 1]!);
    return { tag, kind, id, fields };
  }
  const range = whole ? null : ((await ask('GETRANGE', name, '0', String(digestLength - 1))) as Buffer | 'other type');
  // An absent key's range is empty, as an empty value's is.
  const bytes = range?.length ? range : ((await ask('GET', name)) as Buffer | 'other type' | null);
  if (bytes === null) return null;
  return { tag, kind, id, bytes: bytes === 'other type' ? null : bytes, whole };
}

/** Another program wrote this key of ours, with another type. It will be replaced. */
function otherType(error: Error): 'other type' {
  if (isOtherType(error)) return 'other type';
  throw error;
}

const everywhere: ReadonlySet<number> = new Set([-1, ...allTags]);

/** The views of a running service in Redis, or in a Redis Cluster. */
export async function redisLiveViews(settings: RedisSettings): Promise<LiveViews> {
  return liveViewsOver(await redisConnection(settings), redisKeys(settings.keyPrefix));
}

/** The views of a running service, over a connection. */
export function liveViewsOver(connection: RedisConnection, keys: RedisKeys): LiveViews {
  const text = (key: string) => readText(connection, key);
  return {
    list: () => listStored(connection, keys, { tags: everywhere, whole: true }),
    read: (names) => readStored(connection, keys, names),
    async notes(tags) {
      const first = connection.isCluster ? null : await text(keys.fence(0));
      return Promise.all(
        tags.map(async (tag) => ({
          fence: beating(await text(keys.fence(tag)), first) ?? '',
          position: await text(keys.position(tag)),
          compare: await saysCompare(connection, keys.open(tag)),
        })),
      );
    },
    // As commitScript does (view-scripts.ts). Its reply to the leader's next batch or beat says so. Of a list of another type
    // that batch finds it by itself. A beat of several tags asks for such a batch of each.
    askCompare: async (tags) => {
      const ask = (key: string) => connection.command(key, ['ZADD', key, '+inf', 'compare']).catch(nullIfOtherType);
      await Promise.all(tags.map((tag) => ask(keys.open(tag))));
      if (!connection.isCluster) await connection.command(keys.asked(), ['SET', keys.asked(), randomUUID()]);
    },
    spell: ({ tag, kind, id }) => keys.of(tag, kind, id),
    close: () => connection.close(),
  };
}
