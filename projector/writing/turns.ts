import { type Clock, realClock } from '../ports/clock.ts';

// Rendering and comparing are synchronous. After this long the event loop gets a turn.
const turnMs = 10;

/** Yields to the event loop now and then, in work that would block it for long. */
export class Turns {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock = realClock) {
    this.#clock = clock;
    this.#sinceMs = clock.nowMs();
  }

  /** Whether the event loop has been blocked long enough. */
  due(): boolean {
    return this.#clock.nowMs() - this.#sinceMs > turnMs;
  }

  async take(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#sinceMs = this.#clock.nowMs();
  }
}
