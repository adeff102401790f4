import type { Cluster, Redis } from 'ioredis';
import { hasMoved, isFree, unledMs } from '../../../projector/ports/leading.ts';
import { backgroundClock } from '../../../projector/running/clock.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import type { RedisKeys } from '../redis-keys.ts';

const lookMs = 500;

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
export function watchUnledTags(client: Redis | Cluster, keys: RedisKeys, signal: AbortSignal): () => number | null {
  const tags = new UnledTags();
  const clock = backgroundClock;
  // MGET, because GET would fail for a key of another type. Of one key, because in a cluster each is elsewhere.
  const fence = async (tag: number): Promise<string | null> => (await client.mget(keys.fence(tag)))[0]!;
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await Promise.all(allTags.map(fence)).then(
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
