import { isWithin } from '../leading/beginning.ts';
import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-log.ts';
import type { LiveNotes, LiveViews } from '../ports/live-views.ts';
import { parseStoredPosition, type StoredPosition } from '../writing/settled-position.ts';

const lookMs = 200;
// A leader beats each half second.
const stillMs = 4_000;
const waitMsMax = 60_000;

/** The position of a tag, where it is of this log. */
export const storedOf = ({ position }: LiveNotes, log: string | null): StoredPosition | null => {
  const stored = parseStoredPosition(position);
  return stored?.log === log ? stored : null;
};

/** Whether anything moved in some tags' notes since the look before: somebody leads them. */
export class Movement {
  readonly #clock: Clock;
  #before = '';
  #movedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#movedMs = clock.nowMs();
  }

  /** False once nothing has moved for several beats. */
  goesOn(notes: readonly LiveNotes[]): boolean {
    const now = notes.map(({ fence, position }) => `${fence} ${position}`).join();
    if (now !== this.#before) this.#movedMs = this.#clock.nowMs();
    this.#before = now;
    return this.#clock.nowMs() - this.#movedMs < stillMs;
  }
}

export interface CoveredDeps {
  live: LiveViews;
  /** Which log positions are of. */
  logIdentity: string | null;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Waits until some tags' positions cover this one: all before it is written there. Resolves to the tags that do, with
 * their positions; without those whose leader does not get there.
 */
export async function covered(
  tags: readonly number[],
  since: Position,
  { live, logIdentity, clock, signal }: CoveredDeps,
): Promise<Map<number, StoredPosition>> {
  const movement = new Movement(clock);
  const beganMs = clock.nowMs();
  for (;;) {
    const notes = await live.notes(tags);
    const found = new Map<number, StoredPosition>();
    for (const [i, tag] of tags.entries()) {
      const stored = storedOf(notes[i]!, logIdentity);
      if (stored && isWithin(since, stored.position)) found.set(tag, stored);
    }
    const isOver = !movement.goesOn(notes) || clock.nowMs() - beganMs > waitMsMax;
    if (found.size === tags.length || isOver) return found;
    await clock.sleep(lookMs, signal);
    signal.throwIfAborted();
  }
}
