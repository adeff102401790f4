import { type Clock, realClock } from '../ports/clock.ts';
import type { LogBatch } from '../ports/event-log.ts';
import { Turns } from '../ports/waiting.ts';

/** Changes of one batch. */
interface Taken {
  arrivedMs: number;
  /** Since when the first of them has not been readable. */
  sinceMs: number;
  /** The timestamps of their records. */
  timestampsMs: Float64Array;
  /**
   * The number of the last fan-out that they began, 0 for none. Its watchers are written later than everything else.
   */
  fanOut: number;
}

/** How long a change took: since its record's timestamp, and since it arrived here. */
export type Measured = (fromRecordSeconds: number, fromArrivalSeconds: number) => void;

// 8 bytes each. A store that is away for hours must not fill the memory with measurements.
const kept = 1_000_000;

/**
 * Changes that are folded and not readable yet. Each one is measured once all views that show it are written. So a
 * store that was away for six seconds shows in every change that it delayed.
 */
export class UnreadableChanges {
  readonly #measured: Measured;
  readonly #keptMax: number;
  readonly #clock: Clock;
  #taken: Taken[] = [];
  #kept = 0;
  /** Changes whose fan-outs are still in progress. */
  #fanningOut: Taken[] = [];

  constructor(measured: Measured, keptMax = kept, clock: Clock = realClock) {
    this.#measured = measured;
    this.#keptMax = keptMax;
    this.#clock = clock;
  }

  take(batch: LogBatch, arrivedMs: number, fanOut: number): void {
    const { records, unreadSinceMs: sinceMs = arrivedMs } = batch;
    if (records.length === 0) return;
    // Beyond the limit, the first change of a batch stands for all of it.
    const some = this.#kept + records.length > this.#keptMax ? records.slice(0, 1) : records;
    this.#kept += some.length;
    const timestampsMs = Float64Array.from(some, ({ timestampMs }) => timestampMs);
    this.#taken.push({ arrivedMs, sinceMs, timestampsMs, fanOut });
  }

  /** A round begins, which writes everything taken so far. Pass the result to `written`. */
  begin(): number {
    return this.#taken.length;
  }

  /** The first `count` changes are written. Fan-outs up to this number have been written to all watchers. */
  async written(count: number, fannedOut: number, nowMs: number): Promise<void> {
    if (count === 0 && this.#fanningOut.length === 0) return;
    const done: Taken[] = [];
    const written = this.#taken.splice(0, count);
    const open = [...this.#fanningOut, ...written];
    this.#fanningOut = [];
    for (const taken of open) (taken.fanOut > fannedOut ? this.#fanningOut : done).push(taken);
    await this.#measure(done, nowMs);
  }

  /** Since when the oldest change has not been readable. Null: all are. */
  get sinceMs(): number | null {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { sinceMs } of this.#fanningOut) oldest = Math.min(oldest, sinceMs);
    for (const { sinceMs } of this.#taken) oldest = Math.min(oldest, sinceMs);
    return oldest === Number.POSITIVE_INFINITY ? null : oldest;
  }

  async #measure(done: readonly Taken[], nowMs: number): Promise<void> {
    const turns = new Turns(this.#clock);
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
