import type { StateStore } from '../../../../api/ports/sign-in-state.ts';

/** When uses of codes and refresh tokens happen: truly at a time, also at several instances, or long after the first. */
export class TimedUses {
  #missing = 0;
  #allCame = Promise.resolve();
  #came = (): void => {};
  #laterMs = 0;
  /** How much later it was at each entry's first use. */
  readonly #first = new Map<string, number>();

  /** The next use is not counted before so many requests are about to be. */
  together(count: number): void {
    this.#missing = count;
    this.#allCame = new Promise((resolve) => {
      this.#came = resolve;
    });
  }

  /** From now on it is this much later. */
  later(seconds: number): void {
    this.#laterMs += seconds * 1000;
  }

  /** A store whose uses are timed so. */
  in(store: StateStore): StateStore {
    return {
      ...store,
      use: async (kind, id) => {
        if (--this.#missing === 0) this.#came();
        await this.#allCame;
        const used = await store.use(kind, id);
        const first = this.#first.get(id) ?? this.#laterMs;
        this.#first.set(id, first);
        return used && { ...used, sinceFirstMs: used.sinceFirstMs + this.#laterMs - first };
      },
    };
  }
}
