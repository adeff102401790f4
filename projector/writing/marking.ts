import type { Facts } from '../facts/facts.ts';
import type { Touched } from '../facts/touched.ts';
import { ownPart } from '../views/reader.ts';
import { goingDays, type MarkReader, markOwnLayer, markRelation, partsShowing } from '../views/reader-marks.ts';
import { valueMarks } from '../views/value-views.ts';
import type { FanOuts } from './fan-outs.ts';
import type { MarkSink } from './marks.ts';

/** A rider with more watchers than this is written in slices, so that other changes are not held up. */
const inlineMax = 64;

/**
 * Marks the views that show a changed fact. projector/views says which ones they are: value-views.ts and reader-marks.ts. A
 * change of a rider with many watchers is told to them slice by slice.
 */
export class Marking implements Touched {
  readonly #facts: Facts;
  readonly #marks: MarkSink;
  readonly #fanOuts: FanOuts | null;
  readonly #inlineMax: number;
  readonly #markReader: MarkReader = (reader, day, parts) => this.#marks.readerDay(reader, day, parts);

  /** `fanOuts`: where riders with many watchers are left to; null: all watchers are marked at once. */
  constructor(facts: Facts, marks: MarkSink, fanOuts: FanOuts | null, watchersInlineMax = inlineMax) {
    this.#facts = facts;
    this.#marks = marks;
    this.#fanOuts = fanOuts;
    this.#inlineMax = watchersInlineMax;
  }

  metro(metro: number): void {
    valueMarks.metro(this.#facts, this.#marks.values, metro);
  }

  ride(ride: number): void {
    valueMarks.ride(this.#facts, this.#marks.values, ride);
  }

  night(night: number): void {
    valueMarks.night(this.#facts, this.#marks.values, night);
  }

  card(rider: number): void {
    valueMarks.card(this.#marks.values, rider);
  }

  keyHash(hash: number): void {
    valueMarks.keyHash(this.#marks.values, hash);
  }

  own(rider: number, day: number): void {
    this.#marks.readerDay(rider, day, ownPart);
  }

  /** All watchers of the rider see it, and the rider's own layer appears or disappears. */
  existence(rider: number): void {
    for (const day of goingDays(this.#facts, rider)) this.going(rider, day);
    markOwnLayer(this.#facts, rider, this.#markReader);
  }

  /** Marks all watchers of a rider, at once or slice by slice. */
  going(rider: number, day: number): void {
    const { watchers } = this.#facts;
    const length = watchers.length(rider);
    if (this.#fanOuts && length > this.#inlineMax) this.#fanOuts.add(rider, day);
    else for (let i = 0; i < length; i++) this.related(watchers.id(rider, i), day, watchers.bits(rider, i));
  }

  relation(reader: number, other: number, before: number, after: number): void {
    markRelation(this.#facts, [reader, other], [before, after], this.#markReader);
    // A reader who unfollows is no longer a watcher, so a pending fan-out of the other rider skips them. Their old view
    // must go now.
    for (const day of this.#fanOuts?.days(other) ?? []) this.related(reader, day, before | after);
  }

  /** Marks what a watcher sees of a rider on a day, by the bits of their relation. */
  related(watcher: number, day: number, bits: number): void {
    this.#marks.readerDay(watcher, day, partsShowing(bits));
  }
}
