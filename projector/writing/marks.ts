/**
 * Views to write again. Applying a record only marks: ten thousand changes to one night render its views once.
 * A reader-day is one number: the reader's, and the day's.
 */

// Days of years 0001 to 9999 fit in 22 bits once shifted to start at 0.
const daySpan = 2 ** 22;
const dayShift = 719_162;

export type ReaderDay = number;
export const readerDay = (reader: number, day: number): ReaderDay => reader * daySpan + day + dayShift;
export const readerOf = (mark: ReaderDay): number => Math.floor(mark / daySpan);
export const dayOf = (mark: ReaderDay): number => (mark % daySpan) - dayShift;

export class Marks {
  /** Whole-key views by key (schemas/views/view-keys.ts). */
  views = new Set<string>();
  /** Days of a reader's own nights. */
  own = new Set<ReaderDay>();
  /** Days of a reader's friends going. */
  friends = new Set<ReaderDay>();
  /** Days of a reader's flagged riders going. */
  flagged = new Set<ReaderDay>();
  /** A rider and a day about which every reader's friends or flagged riders are to be marked, slice by slice. */
  fanOuts = new Set<ReaderDay>();
  /** Those under way, by what they were marked for: the writer's own (rounds.ts). */
  fanningOut: ReadonlyMap<ReaderDay, unknown> = new Map();

  get size(): number {
    return this.views.size + this.own.size + this.friends.size + this.flagged.size;
  }

  clear(): void {
    this.views.clear();
    this.own.clear();
    this.friends.clear();
    this.flagged.clear();
    this.fanOuts.clear();
  }
}
