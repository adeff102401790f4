/**
 * "Does somebody lead this tag?" Everybody who asks uses this module. A leader moves the fence of each of its tags with
 * every batch, and some fence with every beat: on one Redis the first tag's, in a cluster each tag's (docs/rules.md#fence). A fence that moves is led. A fence that stands
 * still may have lost its leader: the more a mistake costs, the longer it may stand. No process compares another's clock
 * with its own.
 */

/** A leader beats at least this often. A projector that stands by moves a sign of life (`coming`). */
export const beatMs = 500;

// Who takes a tag over (docs/rules.md#take-over). A mistake ends the term of a leader that is alive.

/**
 * A fence that stands still in so many looks is nobody's. Each look begins one beat after the answer of the one before: where
 * a store answers at once, looks at 0, 500, 1,000, 1,500 and 2,000 ms.
 */
const stillLooksMin = 5;
/** Nobody takes over sooner after a fence has moved: the looks of a standby take so long. */
export const takeOverMsMin = (stillLooksMin - 1) * beatMs;
/** A look that takes longer says more about the store than about the leader. It does not count. */
export const lookMsMax = 2_000;

// Who answers readers.

/** Four beats. An API process that has not heard a fence move for longer may have lost changes too: it asks Redis again. */
export const unheardMsMax = 2_000;
/** Six beats. An API that finds other view formats too begins to serve only if its own is led (docs/rules.md#ready-api). */
export const ledMsMax = 3_000;
/**
 * An API process waits so long for a leader to say that the views are complete (docs/rules.md#complete). Where not even a
 * sign of life has moved, no projector runs: waiting brings nothing better than the views that are there.
 */
export const silentMsMax = 60_000;

// Who operates it.

/** Five beats. `lag` and a metric of the API count a tag whose fence has not moved for so long as one that nobody leads. */
export const unledMs = 2_500;
/** Eight beats. `verify` waits no longer for a leader whose tags stand still. */
export const goneMs = 4_000;
/**
 * `lag` and `generations` look so often after a first look, for `unledMs` in all. Standbys write their signs of life over one
 * another, so each shows in some look only.
 */
export const commandLooks = 5;
export const commandLookMs = unledMs / commandLooks;

/**
 * Whether a fence or a sign of life has moved since the look before: `hasMoved('1:7:a:led', '1:8:a:led')` is true. A first look
 * (`before` undefined) says nothing, nor does an absent key (null).
 */
export const hasMoved = (before: string | null | undefined, now: string | null): boolean =>
  before !== undefined && now !== null && now !== before;

/** Whether the leader gave the tag up, so that anybody may take it: `isFree('1:8:a:free')` is true. */
export const isFree = (fence: string): boolean => fence.endsWith(':free');

/**
 * Says whether all of some fences may be taken, from looks at them. A store that is frozen, full or away deposes nobody:
 * a look that failed or was too slow says nothing of the leader, nor does one while nothing can be written.
 */
export class StillFences {
  #last: readonly string[] = [];
  #still: number[] = [];

  /** Every fence at one moment, empty text for one that is absent. True if all may be taken as they were seen. */
  looked(fences: readonly string[]): boolean {
    this.#still = fences.map((fence, i) => (hasMoved(this.#last[i], fence) ? 1 : (this.#still[i] ?? 0) + 1));
    this.#last = fences;
    return fences.every((fence, i) => isFree(fence) || this.#still[i]! >= stillLooksMin);
  }

  /** A look does not count: the count starts again. */
  missed(): void {
    this.#still = [];
  }
}
