import { setTimeout as sleep } from 'node:timers/promises';
import { allTags } from '../../schemas/views/view-keys.ts';
import { type RedisConnection, readText, withRedis } from './redis-connection.ts';
import { parseFence, redisKeys } from './redis-keys.ts';
import type { RedisSettings } from './redis-settings.ts';

/** A projector that holds fences. */
export interface Leading {
  /** When it took them, in milliseconds since the epoch by the store's clock. */
  epoch: number;
  /** How many tags it holds. */
  tags: number;
  /** Its fences move: it runs, and reaches the store. */
  alive: boolean;
}

export interface StoreState {
  leaders: Leading[];
  /** Tags that nobody has a fence on. */
  tagsUnled: number;
  /** Projectors that are there and do not lead: each by the id that its fences would name. */
  standbys: string[];
  /** The position that stands beside each tag's views, as it was written; `owner`: of the tag's fence. */
  positions: { owner: string; text: string | null }[];
}

// Long enough for several beats (projector/writing/tag-lanes.ts) of a leader, and signs of life of each standby.
const looks = 5;
const lookAgainMs = 400;

/** Looks at fences and positions twice, a moment apart. Changes nothing. Throws if Redis cannot be reached. */
export async function readStoreState(settings: RedisSettings, signal: AbortSignal): Promise<StoreState> {
  const keys = redisKeys(settings.keyPrefix);
  const look = async (connection: RedisConnection): Promise<StoreState> => {
    const texts = (name: (tag: number) => string) => Promise.all(allTags.map((tag) => readText(connection, name(tag))));
    const before = await texts(keys.fence);
    const seen = [await texts(keys.coming)];
    for (let look = 0; look < looks; look++) {
      await sleep(lookAgainMs, undefined, { signal });
      seen.push(await texts(keys.coming));
    }
    const after = await texts(keys.fence);
    const positions = (await texts(keys.position)).map((text, tag) => ({
      owner: parseFence(after[tag] ?? '').owner,
      text,
    }));
    return { ...leadersOf(before, after), standbys: standbysIn(seen), positions };
  };
  return withRedis(settings, look).catch((cause: Error) => {
    signal.throwIfAborted();
    // What the connection puts around a fault would only be said beside it.
    const fault = (cause.cause ?? cause) as Error;
    throw new Error(`Cannot read who leads from Redis: ${fault.message}`, { cause: fault });
  });
}

/** `looks`: each tag's sign of life, `<owner>:<time>`. Several standbys write over one another: each shows in some look. */
export function standbysIn(looks: readonly (readonly (string | null)[])[]): string[] {
  const [first = [], ...later] = looks;
  const moved = later.flatMap((look) => look.filter((sign, tag) => sign !== null && sign !== first[tag]));
  return [...new Set(moved.map((sign) => sign!.split(':')[0]!))].sort();
}

/** `before` and `after`: each tag's fence at two looks. */
export function leadersOf(
  before: readonly (string | null)[],
  after: readonly (string | null)[],
): Pick<StoreState, 'leaders' | 'tagsUnled'> {
  const leaders = new Map<string, Leading>();
  let tagsUnled = 0;
  for (const [tag, fence] of after.entries()) {
    const { epoch, owner, state } = parseFence(fence ?? '');
    if (!(epoch > 0) || state === 'free') {
      tagsUnled += 1;
      continue;
    }
    const leader = leaders.get(owner) ?? { epoch: 0, tags: 0, alive: false };
    leaders.set(owner, leader);
    leader.epoch = Math.max(leader.epoch, epoch);
    leader.tags += 1;
    leader.alive ||= fence !== before[tag];
  }
  return { leaders: [...leaders.values()].sort((a, b) => b.epoch - a.epoch), tagsUnled };
}
