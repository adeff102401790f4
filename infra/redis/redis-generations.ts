import { backgroundClock } from '../../projector/ports/clock.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { type RedisConnection, type RedisSettings, readText, redisConnection } from './redis-connection.ts';
import { redisKeys } from './redis-keys.ts';
import { type Leading, leadersOf } from './redis-leadership.ts';
import { scanKeys } from './scan-keys.ts';

/** The view formats in a store: what each holds, and who leads it. */

// Long enough for several beats of a leader (projector/writing/tag-lanes.ts), and signs of life of a standby.
const watchMs = 2_000;

export interface Generation {
  /** The number of its view format. */
  format: number;
  keys: number;
  /** As Redis reckons it, a hash by some of its fields. */
  bytes: number;
  leaders: Leading[];
  /** Tags that nobody has a fence on. */
  tagsUnled: number;
  /** Whether a projector of it stands by, or is coming. */
  standby: boolean;
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

/** All view formats that have keys, in order. Changes nothing. */
export async function listGenerations(
  connection: RedisConnection,
  keyPrefix: string,
  signal: AbortSignal,
): Promise<Generation[]> {
  const sizes = new Map<number, { keys: number; bytes: number }>();
  const pattern = /^g(\d{1,9}):/;
  for await (const { master, names } of scanKeys(connection, { prefix: `${keyPrefix}g`, signal })) {
    const known = names.flatMap((name) => {
      const format = pattern.exec(name.toString().slice(keyPrefix.length))?.[1];
      return format === undefined ? [] : [{ name, format: Number(format) }];
    });
    const bytes = await Promise.all(known.map(({ name }) => master(['MEMORY', 'USAGE', name])));
    for (const [i, { format }] of known.entries()) {
      const size = sizes.get(format) ?? { keys: 0, bytes: 0 };
      // A key that has gone meanwhile has no size.
      sizes.set(format, { keys: size.keys + 1, bytes: size.bytes + Number(bytes[i] ?? 0) });
    }
  }
  const formats = [...sizes.keys()].sort((a, b) => a - b);
  const led = await whoLeads(connection, keyPrefix, formats, signal);
  return formats.map((format, i) => ({ format, ...sizes.get(format)!, ...led[i]! }));
}

/** Two looks at the fences and signs of life of some formats, a moment apart. */
export async function whoLeads(
  connection: RedisConnection,
  keyPrefix: string,
  formats: readonly number[],
  signal: AbortSignal,
): Promise<Pick<Generation, 'leaders' | 'tagsUnled' | 'standby'>[]> {
  const look = async (format: number) => {
    const keys = redisKeys(keyPrefix, format);
    const all = (name: (tag: number) => string) => Promise.all(allTags.map((tag) => readText(connection, name(tag))));
    return { fences: await all(keys.fence), signs: await all(keys.coming) };
  };
  const before = await Promise.all(formats.map(look));
  await backgroundClock.sleep(watchMs, signal);
  signal.throwIfAborted();
  const after = await Promise.all(formats.map(look));
  return after.map(({ fences, signs }, i) => ({
    ...leadersOf(before[i]!.fences, fences),
    standby: signs.some((sign, tag) => sign !== before[i]!.signs[tag]),
  }));
}
