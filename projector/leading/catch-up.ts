import type { Clock } from '../ports/clock.ts';
import { silentMsMax } from '../ports/leading.ts';

interface CatchUpDeps {
  /** Folds the log to its ends as they are now. */
  foldToEnds(): Promise<void>;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Folds the log to its ends after each doubt, beside the rounds (docs/rules.md#complete). This process may have stood still
 * while another one led, and the store be a copy from before that. Then the fences are as this leader left them, and the
 * views are older than what readers have seen.
 */
export class CatchUp {
  readonly #deps: CatchUpDeps;
  /** The last doubt (TagLanes.doubts) after which the log was folded. A new leader has folded it since it took the tags. */
  #doubt = 0;
  #begun = 0;
  #fault: unknown = null;

  constructor(deps: CatchUpDeps) {
    this.#deps = deps;
  }

  /** The last doubt after which the log was folded. Throws what ended the fold. */
  get doubt(): number {
    if (this.#fault !== null) throw this.#fault;
    return this.#doubt;
  }

  /** Begins to catch up, if that has not begun since this doubt. */
  after(doubt: number): void {
    if (doubt === this.#begun) return;
    this.#begun = doubt;
    const { foldToEnds, clock, signal } = this.#deps;
    // A log that is away for longer delays no more than this: waiting brings nothing better.
    Promise.race([foldToEnds(), clock.sleep(silentMsMax, signal)]).then(
      () => {
        this.#doubt = Math.max(this.#doubt, doubt);
      },
      (cause: unknown) => {
        this.#fault = cause;
      },
    );
  }
}
