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

  constructor(measured: Measured, keptMax = kept, clock: Clock = realClock) {
    this.#measured = measured;
    this.#keptMax = keptMax;
    this.#clock = clock;
  }

  /** A batch was folded. `fanOut`: the number of the last fan-out that it began, 0 for none. */
  take({ records, unreadSinceMs }: Pick<LogBatch, 'records' | 'unreadSinceMs'>, fanOut: number): void {
    if (records.length === 0) return;
    const arrivedMs = this.#clock.nowMs();
    // Beyond the limit, the first change of a batch stands for all of it.
    const some = this.#kept + records.length > this.#keptMax ? records.slice(0, 1) : records;
    this.#kept += some.length;
    const timestampsMs = Float64Array.from(some, ({ timestampMs }) => timestampMs);
    this.#taken.push({ arrivedMs, sinceMs: unreadSinceMs ?? arrivedMs, timestampsMs, fanOut });
  }

  /** A round begins, which writes everything taken so far. Pass the result to `written`. */
  begin(): number {
    return this.#taken.length;
  }

  /** The store has answered a round. Fan-outs up to this number have been written to all watchers. */
  async written(round: number, fannedOut: number): Promise<void> {
    const done: Taken[] = [];
    this.#taken = this.#taken.filter((taken, i) => {
      const isDone = i < round && taken.fanOut <= fannedOut;
      if (isDone) done.push(taken);
      return !isDone;
    });
    await this.#measure(done, this.#clock.nowMs());
  }

  /** Since when the oldest change has not been readable. Null: all are. */
  get sinceMs(): number | null {
    return this.#taken.length === 0
      ? null
      : this.#taken.reduce((oldest, { sinceMs }) => Math.min(oldest, sinceMs), Number.POSITIVE_INFINITY);
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
