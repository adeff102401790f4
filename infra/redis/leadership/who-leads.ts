import { setTimeout as sleep } from 'node:timers/promises';
import { commandLookMs, commandLooks, hasMoved, isFree } from '../../../projector/ports/leading.ts';
import { allTags, viewFormat } from '../../../schemas/views/view-keys.ts';
import { type RedisConnection, readText, readTexts, saysCompare, withRedis } from '../redis-connection.ts';
import { beating, otherFormats, parseFence, type RedisKeys, redisKeys } from '../redis-keys.ts';
import type { RedisSettings } from '../redis-settings.ts';
import { processOf } from './read-guard.ts';

/** A projector that holds fences. */
export interface Leading {
  /** When it took them, in milliseconds since the epoch by the store's clock. */
  epoch: number;
  /** How many tags it holds. */
  tags: number;
  /** A fence of it moves: it runs, and reaches the store. */
  alive: boolean;
}

/** Who leads and who stands by, of one view format. */
export interface WhoLeads {
  leaders: Leading[];
  /** Tags that nobody leads: there is no fence, it is free, or it has not moved for `unledMs`. */
  tagsUnled: number;
  /** Projectors that run and do not lead, each by the id that its fences would name. */
  standbys: string[];
}

export interface StoreState extends WhoLeads {
  /** Other view formats that a running projector leads. */
  otherFormats: number[];
  /** The position that stands beside each tag's views, as it was written; `owner`: of the tag's fence. */
  positions: { owner: string; text: string | null }[];
  /** How old the oldest change is that is not readable, as the last leader said it. Null: all are. */
  unreadableMs: number | null;
}

/** Looks at some formats' fences and signs of life for `unledMs`. Changes nothing. */
export async function whoLeads(
  connection: RedisConnection,
  keyPrefix: string,
  formats: readonly number[],
  signal: AbortSignal,
): Promise<WhoLeads[]> {
  const texts = (name: (tag: number) => string) => Promise.all(allTags.map((tag) => readText(connection, name(tag))));
  const ofFormat = async (format: number): Promise<WhoLeads> => {
    const keys = redisKeys(keyPrefix, format);
    const fences = async (): Promise<(string | null)[]> => {
      const found = await texts(keys.fence);
      return connection.isCluster ? found : found.map((fence) => beating(fence, found[0]!));
    };
    const before = await fences();
    const seen = [await texts(keys.coming)];
    for (let look = 0; look < commandLooks; look++) {
      await sleep(commandLookMs, undefined, { signal });
      seen.push(await texts(keys.coming));
    }
    return { ...leadersOf(before, await fences()), standbys: standbysIn(seen) };
  };
  return Promise.all(formats.map(ofFormat));
}

/** What operators ask of a store. Takes `unledMs`. Changes nothing. Throws if Redis cannot be reached. */
export async function readStoreState(settings: RedisSettings, signal: AbortSignal): Promise<StoreState> {
  const { keyPrefix } = settings;
  const keys = redisKeys(keyPrefix);
  const look = async (connection: RedisConnection): Promise<StoreState> => {
    const text = (key: string) => readText(connection, key);
    const fences = await Promise.all(otherFormats.map((format) => text(redisKeys(keyPrefix, format).fence(0))));
    const others = otherFormats.filter((_, i) => fences[i] !== null);
    const [own, ...led] = await whoLeads(connection, keyPrefix, [viewFormat, ...others], signal);
    const positions = allTags.map(async (tag) => ({
      owner: parseFence((await text(keys.fence(tag))) ?? '').owner,
      text: await text(keys.position(tag)),
    }));
    const ageMs = await text(keys.unreadable());
    return {
      ...own!,
      otherFormats: others.filter((_, i) => led[i]!.leaders.some(({ alive }) => alive)),
      positions: await Promise.all(positions),
      unreadableMs: ageMs ? Number(ageMs) : null,
    };
  };
  return withRedis(settings, look).catch((cause: Error) => {
    signal.throwIfAborted();
    // The connection's own words around a fault would say the same again.
    const fault = (cause.cause ?? cause) as Error;
    throw new Error(`Cannot read who leads from Redis: ${fault.message}`, { cause: fault });
  });
}

/**
 * The positions that stand beside the tags' views, as they were written. Null while some views are in doubt: a tag is not stamped
 * in the process that holds it, or waits for a compare (docs/rules.md#readable). Changes nothing.
 */
export async function readPositions(connection: RedisConnection, keys: RedisKeys): Promise<string[] | null> {
  const noted = async (tag: number) => {
    const [stamp, text] = await readTexts(connection, keys.complete(tag), keys.position(tag));
    return { stamp: String(stamp), text: text ?? '', compare: await saysCompare(connection, keys.open(tag)) };
  };
  const tags = await Promise.all(allTags.map(noted));
  // Asked last: a process that is there now was there while the tags were read.
  const masters = await connection.masters();
  const processes = await Promise.all(
    masters.map((ask) => processOf(async (section) => String(await ask(['INFO', section])))),
  );
  const isSure = tags.every(({ stamp, compare }) => !compare && processes.includes(stamp));
  return isSure ? tags.map(({ text }) => text) : null;
}

/** `looks`: each tag's sign of life, `<owner>:<time>`. Several standbys write over one another: each shows in some look. */
function standbysIn(looks: readonly (readonly (string | null)[])[]): string[] {
  const [first, ...later] = looks;
  const moved = later.flatMap((look) => look.filter((sign, tag) => hasMoved(first![tag], sign)));
  return [...new Set(moved.map((sign) => sign!.split(':')[0]!))].sort();
}

/** `before` and `after`: each tag's fence at two looks. */
function leadersOf(before: readonly (string | null)[], after: readonly (string | null)[]): Omit<WhoLeads, 'standbys'> {
  const leaders = new Map<string, Leading>();
  let tagsUnled = 0;
  for (const [tag, fence] of after.entries()) {
    const { epoch, owner } = parseFence(fence ?? '');
    const isHeld = epoch > 0 && !isFree(fence!);
    const moves = hasMoved(before[tag], fence);
    if (!isHeld || !moves) tagsUnled += 1;
    if (!isHeld) continue;
    const leader = leaders.get(owner) ?? { epoch: 0, tags: 0, alive: false };
    leaders.set(owner, leader);
    leader.epoch = Math.max(leader.epoch, epoch);
    leader.tags += 1;
    leader.alive ||= moves;
  }
  return { leaders: [...leaders.values()].sort((a, b) => b.epoch - a.epoch), tagsUnled };
}
