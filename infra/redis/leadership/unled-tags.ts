import { Cluster, type Redis } from 'ioredis';
import { hasMoved, isFree, unledMs } from '../../../projector/ports/leading.ts';
import { backgroundClock, type Clock } from '../../../projector/running/clock.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { beating, parseFence, type RedisKeys } from '../redis-keys.ts';

const lookMs = 500;
const lookAtAllMs = 5_000;

/** Counts the tags that nobody leads, from looks at all fences. No I/O. */
export class UnledTags {
  #fences: readonly (string | null)[] = [];
  #movedMs: number[] = [];
  /** The looks have been answered without a gap since then. */
  #sinceMs = Number.POSITIVE_INFINITY;
  #lookedMs = Number.NEGATIVE_INFINITY;

  looked(fences: readonly (string | null)[], nowMs: number): void {
    if (!this.#isFresh(nowMs)) {
      this.#sinceMs = nowMs;
      this.#movedMs = fences.map(() => nowMs);
    }
    for (const [tag, fence] of fences.entries()) {
      if (fence !== null && !isFree(fence) && hasMoved(this.#fences[tag], fence)) this.#movedMs[tag] = nowMs;
    }
    this.#fences = fences;
    this.#lookedMs = nowMs;
  }

  /** How many tags have a fence that has not moved for `unledMs`. Null: it is not known, because the store did not answer for so long. */
  count(nowMs: number): number | null {
    if (!this.#isFresh(nowMs) || nowMs - this.#sinceMs < unledMs) return null;
    return this.#movedMs.filter((movedMs) => nowMs - movedMs >= unledMs).length;
  }

  #isFresh(nowMs: number): boolean {
    return nowMs - this.#lookedMs < unledMs;
  }
}

/** Looks at the fences of our view format until the signal aborts. Returns what counts the tags that nobody leads. */
export function watchUnledTags(
  client: Pick<Redis, 'mget'>,
  keys: RedisKeys,
  signal: AbortSignal,
  clock: Clock = backgroundClock,
): () => number | null {
  const tags = new UnledTags();
  const look = client instanceof Cluster ? fencesOfCluster(client, keys) : fencesOfOne(client, keys, clock);
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await look().then(
        (fences) => tags.looked(fences, clock.nowMs()),
        // The store is away, which says nothing of who leads.
        () => undefined,
      );
      await clock.sleep(lookMs, signal);
    }
  };
  void run();
  return () => tags.count(clock.nowMs());
}

type Look = () => Promise<(string | null)[]>;

/** MGET, because GET would fail for a key of another type. Of one key, because each tag is elsewhere. */
const fencesOfCluster =
  (client: Cluster, keys: RedisKeys): Look =>
  () =>
    Promise.all(allTags.map(async (tag) => (await client.mget(keys.fence(tag)))[0]!));

/** Reads the fence that moves for all tags; now and then, and when another projector leads, whether all name its owner. */
function fencesOfOne(client: Pick<Redis, 'mget'>, keys: RedisKeys, clock: Clock): Look {
  let all: (string | null)[] = [];
  let allMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const [first] = await client.mget(keys.fence(0));
    const isOther = parseFence(all[0] ?? '').owner !== parseFence(first ?? '').owner;
    if (isOther || clock.nowMs() - allMs >= lookAtAllMs) {
      all = await client.mget(allTags.map(keys.fence));
      allMs = clock.nowMs();
    }
    return all.map((fence) => beating(fence, first!));
  };
}
