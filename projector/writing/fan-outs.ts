import { tagCount } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import type { RiderNumber } from '../facts/numbers.ts';
import type { Barrier, PositionBarriers, StoredFanOut } from '../position/settled-position.ts';

// How many watchers' days are marked between two rounds. Other riders' changes wait for at most this many.
const sliceMax = 200;

// Up to so many are stored beside the position. If there are more, they hold it back.
const storedMax = 1_000;

/** Days of which all watchers are to be told in one pass. */
interface Pass {
  days: Set<number>;
  /** Holds the position back until every watcher's view is written. */
  barrier: Barrier;
  /** The number of the first change that it tells of. */
  first: number;
}

/** A rider whose change is being written to their watchers. */
interface FanOut extends Pass {
  rider: RiderNumber;
  /**
   * Watchers are processed tag by tag, so that a slice is a batch or two. Within a tag they are in the order of their
   * numbers, done up to `after`.
   */
  tag: number;
  after: number;
  /** What changed while this was in progress. */
  next: Pass | null;
}

/**
 * Changes of riders with many watchers, pending and in progress. They are written slice by slice, so that other changes
 * are not held up. A rider's changes share one pass over the watchers, however many days changed.
 */
export class FanOuts {
  readonly #facts: Facts;
  readonly #barriers: PositionBarriers;
  readonly #sliceMax: number;
  readonly #byRider = new Map<RiderNumber, FanOut>();
  #added = 0;

  constructor(facts: Facts, barriers: PositionBarriers, slice = sliceMax) {
    this.#facts = facts;
    this.#barriers = barriers;
    this.#sliceMax = slice;
  }

  get idle(): boolean {
    return this.#byRider.size === 0;
  }

  /** How many changes were added so far: each has its number, from 1 on. */
  get added(): number {
    return this.#added;
  }

  /** The number of the last change before which, itself included, all watchers of all changes are marked. */
  get told(): number {
    let first = this.#added + 1;
    for (const fanOut of this.#byRider.values()) first = Math.min(first, fanOut.first);
    return first - 1;
  }

  /** Whether they are few enough to be stored beside the position. */
  get storable(): boolean {
    return this.#byRider.size <= storedMax;
  }

  /** All that are under way, for a successor to begin again. */
  stored(): StoredFanOut[] {
    return [...this.#byRider.keys()].map((rider) => [this.#facts.riderIds.text(rider), [...new Set(this.days(rider))]]);
  }

  /** Forgets all: the next term begins them again, or compares the watchers' views. */
  clear(): void {
    this.#barriers.liftFanOuts();
    this.#byRider.clear();
  }

  /** Whether a rider goes to a night of this day changed. */
  add(rider: RiderNumber, day: number): void {
    const number = ++this.#added;
    const pass = (): Pass => ({ days: new Set(), barrier: this.#barriers.open({ fanOut: true }), first: number });
    const running = this.#byRider.get(rider) ?? this.#begin(rider, pass());
    // Not begun yet. A slice ends with a watcher, or with the last tag.
    if (running.after === -1) running.days.add(day);
    else {
      running.next ??= pass();
      running.next.days.add(day);
    }
  }

  #begin(rider: RiderNumber, pass: Pass): FanOut {
    const fanOut = { ...pass, rider, tag: 0, after: -1, next: null };
    this.#byRider.set(rider, fanOut);
    return fanOut;
  }

  /** Days of a rider that are not yet written to all watchers. */
  *days(rider: RiderNumber): Generator<number> {
    const running = this.#byRider.get(rider);
    yield* running?.days ?? [];
    yield* running?.next?.days ?? [];
  }

  /**
   * Marks the next watchers of the rider whose turn it is. If these are the last, returns the barrier to lift once they
   * are written.
   */
  slice(mark: (watcher: RiderNumber, day: number, bits: number) => void): Barrier | null {
    const next = this.#byRider.values().next().value;
    if (!next) return null;
    this.#markSlice(next, mark);
    this.#byRider.delete(next.rider);
    // Set again, so that it is last in turn: fan-outs share the rounds.
    if (next.tag < tagCount) {
      this.#byRider.set(next.rider, next);
      return null;
    }
    if (next.next) this.#begin(next.rider, next.next);
    return next.barrier;
  }

  #markSlice(next: FanOut, mark: (watcher: RiderNumber, day: number, bits: number) => void): void {
    const { watchers, riderIds } = this.#facts;
    const length = watchers.length(next.rider);
    let left = Math.max(1, Math.floor(this.#sliceMax / next.days.size));
    for (; next.tag < tagCount; next.tag++, next.after = -1) {
      // By number, not by index: watchers may have appeared or disappeared since the last slice.
      for (let i = watchers.firstIndex(next.rider, (id) => id > next.after); i < length && left > 0; i++) {
        const watcher = watchers.id(next.rider, i);
        next.after = watcher;
        if (riderIds.tag(watcher) !== next.tag) continue;
        for (const day of next.days) mark(watcher, day, watchers.bits(next.rider, i));
        left -= 1;
      }
      if (left === 0) return;
    }
  }
}
