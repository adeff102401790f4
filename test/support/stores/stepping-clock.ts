import type { Clock } from '../../../projector/running/clock.ts';

/** A clock that moves only when somebody sleeps by it, or a test says so: back-off is tested without waiting. */
export class SteppingClock implements Clock {
  ms = 1_000_000;
  /** How far the wall clock is ahead. */
  wallAheadMs = 0;
  /** Every time slept, in order. */
  readonly slept: number[] = [];

  nowMs(): number {
    return this.ms;
  }

  wallMs(): number {
    return this.ms + this.wallAheadMs;
  }

  async sleep(ms: number): Promise<void> {
    if (this.slept.push(ms) > 10_000) throw new Error('It waits for ever: it slept 10,000 times');
    this.ms += ms;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
