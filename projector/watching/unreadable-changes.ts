import type { LogBatch } from '../ports/event-log.ts';
import { Turns } from '../writing/turns.ts';

/** Changes of one batch. */
interface Taken {
  arrivedMs: number;
  /** Since when the first of them has not been readable. */
  sinceMs: number;
  /** Their records' own times. */
  timestampsMs: Float64Array;
  /** The last fan-out that they began, by its number; 0: none. Its readers are told later than all others. */
  fanOut: number;
}

/** How long each change took: from its record's own time, and from its arrival here. */
export type Measured = (fromRecordSeconds: number, fromArrivalSeconds: number) => void;

// 8 bytes each: a store that is away for hours must not fill the memory with measurements.
const kept = 1_000_000;

/**
 * Changes that are folded and not yet readable. Each is measured by itself once all that shows it is written: a store
 * that was away for six seconds shows in every change that it delayed.
 */
export class UnreadableChanges {
  readonly #measured: Measured;
  readonly #keptMax: number;
  #taken: Taken[] = [];
  #kept = 0;
  /** Whose fan-outs are still under way. */
  #fanningOut: Taken[] = [];

  constructor(measured: Measured, keptMax = kept) {
    this.#measured = measured;
    this.#keptMax = keptMax;
  }

  take(batch: LogBatch, arrivedMs: number, fanOut: number): void {
    const { records, unreadSinceMs: sinceMs = arrivedMs } = batch;
    if (records.length === 0) return;
    // Beyond what is kept, the first of a batch stands for it.
    const some = this.#kept + records.length > this.#keptMax ? records.slice(0, 1) : records;
    this.#kept += some.length;
    const timestampsMs = Float64Array.from(some, ({ timestampMs }) => timestampMs);
    this.#taken.push({ arrivedMs, sinceMs, timestampsMs, fanOut });
  }

  /** A round begins: it writes what is taken by now. To be handed to `written`. */
  begin(): number {
    return this.#taken.length;
  }

  /** What was taken first is written; of fan-outs up to a number every reader is told. */
  async written(count: number, fannedOut: number, nowMs: number): Promise<void> {
    if (count === 0 && this.#fanningOut.length === 0) return;
    const done: Taken[] = [];
    const written = this.#taken.splice(0, count);
    const open = [...this.#fanningOut, ...written];
    this.#fanningOut = [];
    for (const taken of open) (taken.fanOut > fannedOut ? this.#fanningOut : done).push(taken);
    await this.#measure(done, nowMs);
  }

  /** Since when the oldest has not been readable; null: there is none. */
  get sinceMs(): number | null {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { sinceMs } of this.#fanningOut) oldest = Math.min(oldest, sinceMs);
    for (const { sinceMs } of this.#taken) oldest = Math.min(oldest, sinceMs);
    return oldest === Number.POSITIVE_INFINITY ? null : oldest;
  }

  async #measure(done: readonly Taken[], nowMs: number): Promise<void> {
    const turns = new Turns();
    for (const { arrivedMs, timestampsMs } of done) {
      this.#kept -= timestampsMs.length;
      for (const timestampMs of timestampsMs) {
        // Clocks of other machines may be ahead.
        this.#measured(Math.max(0, nowMs - timestampMs) / 1000, (nowMs - arrivedMs) / 1000);
        if (turns.due()) await turns.take();
      }
    }
  }
}
