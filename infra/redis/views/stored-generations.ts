import { randomBytes } from 'node:crypto';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { type WhoLeads, whoLeads } from '../leadership/who-leads.ts';
import { type RedisConnection, readText, scanKeys } from '../redis-connection.ts';
import { redisKeys } from '../redis-keys.ts';
import { viewWriterOver } from './redis-view-writer.ts';

/** The view formats in a store: what each holds, and who leads it. */

export interface Generation extends WhoLeads {
  format: number;
  keys: number;
  /** By MEMORY USAGE, which estimates a hash by some of its fields. */
  bytes: number;
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

/**
 * Removes all keys of a view format. Returns how many there were. It takes the fences first, as a projector does, and
 * removes each tag's stamp with it: if it ends half-way, no tag is complete, and the next leader compares them. It beats
 * between steps, so that no projector takes them over. The fences go last. Throws where a projector of the format runs.
 */
export async function dropGeneration(
  connection: RedisConnection,
  keyPrefix: string,
  format: number,
  signal: AbortSignal,
): Promise<number> {
  const keys = redisKeys(keyPrefix, format);
  let there = 0;
  for await (const { names } of scanKeys(connection, { prefix: keys.prefix, signal })) there += names.length;
  if (there === 0) {
    throw new Error(`Cannot drop generation ${format}: the store holds nothing of it`);
  }
  const [led] = await whoLeads(connection, keyPrefix, [format], signal);
  if (led!.standbys.length > 0 || led!.leaders.some(({ alive }) => alive)) {
    throw new Error(`Cannot drop generation ${format}: a projector of it runs; stop it first`);
  }
  const writer = viewWriterOver(connection, keys, randomBytes(8).toString('hex'));
  const assertOurs = (isOurs: boolean): void => {
    if (isOurs) return;
    throw new Error(
      `Cannot drop generation ${format}: a projector of it has begun to lead meanwhile; stop it, and drop it again`,
    );
  };
  for (const tag of allTags) {
    const seen = (await readText(connection, keys.fence(tag))) ?? '';
    assertOurs((await writer.leadership!.take(tag, seen, true)) !== null);
  }
  const fenceKeys = new Set(allTags.map(keys.fence));
  for await (const { master, names } of scanKeys(connection, { prefix: keys.prefix, signal })) {
    const gone = names.filter((name) => !fenceKeys.has(name.toString()));
    await Promise.all(gone.map((name) => master(['UNLINK', name])));
    const beats = await Promise.all(allTags.map((tag) => writer.commit(tag, [])));
    assertOurs(beats.every(({ committed }) => committed));
  }
  // A projector that took one this very moment finds it lost, and takes it again.
  await Promise.all([...fenceKeys].map((key) => connection.command(key, ['DEL', key])));
  return there;
}
