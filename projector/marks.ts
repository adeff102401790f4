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
  /** Whole-key views by key (schemas/view-keys.ts). */
  views = new Set<string>();
  /** Days of a reader's own nights. */
  own = new Set<ReaderDay>();
  /** Days of a reader's friends and flagged riders. */
  circle = new Set<ReaderDay>();
  /** A rider and a day whose every reader's circle is to be marked, slice by slice. */
  fanOuts = new Set<ReaderDay>();

  get size(): number {
    return this.views.size + this.own.size + this.circle.size;
  }

  clear(): void {
    this.views.clear();
    this.own.clear();
    this.circle.clear();
    this.fanOuts.clear();
  }
}
