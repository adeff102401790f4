import type { Clock } from '../../../projector/running/clock.ts';

/** A clock that stands still but for those who sleep by it: back-off is tested without waiting. */
export class SteppingClock implements Clock {
  #nowMs = 1_000_000;
  /** Every time slept, in order. */
  readonly slept: number[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return this.#nowMs;
  }

  async sleep(ms: number): Promise<void> {
    if (this.slept.push(ms) > 10_000) throw new Error('It waits for ever: it slept 10,000 times');
    this.#nowMs += ms;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
