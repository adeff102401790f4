import { secondsUntil } from '../../api/calendar/local-days.ts';
import type { Facts } from '../../projector/facts/facts.ts';

const weekSeconds = 7 * 86_400;

/** Instants at which the local date of a metro changes: an answer may change then with no record. */
export class LocalMidnights {
  readonly #facts: Facts;
  #zones: readonly string[] = [];
  /** There is no such instant after `fromMs` and before `firstMs`. */
  #quiet = { fromMs: Number.POSITIVE_INFINITY, firstMs: Number.NEGATIVE_INFINITY };

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** The metros' zones may have changed. */
  reread(): void {
    this.#quiet = { fromMs: Number.POSITIVE_INFINITY, firstMs: Number.NEGATIVE_INFINITY };
    this.#zones = [...new Set(this.#facts.metros.flatMap((metro) => (metro ? [metro.time_zone] : [])))];
  }

  /** The first such instant after one; infinity where there is no metro. */
  after(ms: number): number {
    if (ms >= this.#quiet.fromMs && ms < this.#quiet.firstMs) return this.#quiet.firstMs;
    // Midnights are at whole seconds.
    const from = Math.floor(ms / 1000) * 1000;
    let first = Number.POSITIVE_INFINITY;
    for (const zone of this.#zones) {
      const seconds = secondsUntil(zone, from, weekSeconds, () => true);
      first = Math.min(first, from + seconds * 1000);
    }
    this.#quiet = { fromMs: from, firstMs: first };
    return first;
  }
}
