import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { allTags } from '../../schemas/views/view-keys.ts';
import { redisClusterClient } from './redis-cluster-client.ts';
import type { RedisSettings } from './redis-connection.ts';
import { parseFence, redisKeys } from './redis-keys.ts';

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
const timeoutMs = 5_000;

/** Looks at fences and positions twice, a moment apart. Changes nothing. Throws if Redis cannot be reached. */
export async function readStoreState(settings: RedisSettings, signal: AbortSignal): Promise<StoreState> {
  const keys = redisKeys(settings.keyPrefix);
  const options = { commandTimeout: timeoutMs, maxRetriesPerRequest: 1, retryStrategy: () => null };
  const client = settings.cluster
    ? redisClusterClient(settings.url, { redisOptions: options, clusterRetryStrategy: () => null })
    : new Redis(settings.url, { ...options, connectTimeout: timeoutMs });
  let fault: Error | null = null;
  client.on('error', (error) => {
    fault = error;
  });
  try {
    const fences = () => Promise.all(allTags.map((tag) => client.get(keys.fence(tag))));
    const signs = () => Promise.all(allTags.map((tag) => client.get(keys.coming(tag))));
    const before = await fences();
    const seen = [await signs()];
    for (let look = 0; look < looks; look++) {
      await sleep(lookAgainMs, undefined, { signal });
      seen.push(await signs());
    }
    const after = await fences();
    const texts = await Promise.all(allTags.map((tag) => client.get(keys.position(tag))));
    const positions = texts.map((text, tag) => ({ owner: parseFence(after[tag] ?? '').owner, text }));
    return { ...leadersOf(before, after), standbys: standbysIn(seen), positions };
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`Cannot read who leads from Redis: ${(fault ?? (cause as Error)).message}`, { cause });
  } finally {
    client.disconnect();
  }
}

/** `looks`: each tag's sign of life, `<owner>:<time>`. Several standbys write over one another: each shows in some look. */
export function standbysIn(looks: readonly (readonly (string | null)[])[]): string[] {
  const [first = [], ...later] = looks;
  const moved = later.flatMap((look) => look.filter((sign, tag) => sign !== null && sign !== first[tag]));
  return [...new Set(moved.map((sign) => sign!.split(':')[0]!))].sort();
}

/** `before` and `after`: each tag's fence at two looks. One of an old version names no owner. */
export function leadersOf(
  before: readonly (string | null)[],
  after: readonly (string | null)[],
): Pick<StoreState, 'leaders' | 'tagsUnled'> {
  const leaders = new Map<string, Leading>();
  let tagsUnled = 0;
  for (const [tag, fence] of after.entries()) {
    const { epoch, owner: named, state } = parseFence(fence ?? '');
    if (!(epoch > 0) || state === 'free') {
      tagsUnled += 1;
      continue;
    }
    const owner = named || String(epoch);
    const leader = leaders.get(owner) ?? { epoch: 0, tags: 0, alive: false };
    leaders.set(owner, leader);
    leader.epoch = Math.max(leader.epoch, epoch);
    leader.tags += 1;
    leader.alive ||= fence !== before[tag];
  }
  return { leaders: [...leaders.values()].sort((a, b) => b.epoch - a.epoch), tagsUnled };
}
