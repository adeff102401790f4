import { clampedMs } from '../../schemas/events/instants.ts';
import type { LogBatch } from '../ports/event-log.ts';
import type { Clock } from '../running/clock.ts';

interface Taken {
  /** Since when the first of them has not been readable. */
  sinceMs: number;
  /** The timestamp of the first one's record. */
  timestampMs: number;
  /**
   * The number of the last fan-out that they began, 0 for none. Its watchers are written later than everything else.
   */
  fanOut: number;
  /** Its marks are lost: a compare writes it, whatever rounds are written. */
  awaitsCompare: boolean;
}

/**
 * Changes that are folded and not readable yet, batch by batch. Each batch is measured once all views that show its changes
 * are written. So a store that was away for six seconds shows in each batch that it delayed.
 */
export class UnreadableChanges {
  readonly #measured: (seconds: number) => void;
  readonly #clock: Clock;
  #taken: Taken[] = [];

  /** `measured`: how long the first change of a batch took, since its record's timestamp. */
  constructor(measured: (seconds: number) => void, clock: Clock) {
    this.#measured = measured;
    this.#clock = clock;
  }

  /** A batch was folded. `fanOut`: the number of the last fan-out that it began, 0 for none. */
  take({ records, unreadSinceMs }: Pick<LogBatch, 'records' | 'unreadSinceMs'>, fanOut: number): void {
    const [first] = records;
    if (!first) return;
    const sinceMs = unreadSinceMs ?? this.#clock.nowMs();
    this.#taken.push({ sinceMs, timestampMs: clampedMs(first.timestampMs), fanOut, awaitsCompare: false });
  }

  /** A round begins, which writes everything taken so far. Pass the result to `written`. */
  begin(): number {
    return this.#taken.length;
  }

  /** The store has answered a round. Fan-outs up to this number have been written to all watchers. */
  written(round: number, fannedOut: number): void {
    const wallMs = this.#clock.wallMs();
    this.#taken = this.#taken.filter(({ fanOut, timestampMs, awaitsCompare }, i) => {
      const isDone = i < round && fanOut <= fannedOut && !awaitsCompare;
      // Clocks of other machines may be ahead.
      if (isDone) this.#measured(Math.max(0, wallMs - timestampMs) / 1000);
      return !isDone;
    });
  }

  /** The store lost something, and what was marked is forgotten: rounds no longer write what was taken. */
  lost(): void {
    for (const one of this.#taken) one.awaitsCompare = true;
  }

  /** The store was compared with the facts: the next round that is written measures what had been lost. */
  compared(): void {
    for (const one of this.#taken) one.awaitsCompare = false;
  }

  /** Another projector leads: what is not readable is that one's to say. */
  forget(): void {
    this.#taken = [];
  }

  /** Since when the oldest change has not been readable. Null: all are. */
  get sinceMs(): number | null {
    return this.#taken.length === 0
      ? null
      : this.#taken.reduce((oldest, { sinceMs }) => Math.min(oldest, sinceMs), Number.POSITIVE_INFINITY);
  }
}
