import type { StateStore } from '../../api/oauth/state-store.ts';

/** Makes redemptions truly parallel, also at several instances, however busy the machine is. */
export class Gathering {
  #missing = 0;
  #allCame = Promise.resolve();
  #came = (): void => {};

  /** The next redemption is not answered before so many have been tried. */
  of(count: number): void {
    this.#missing = count;
    this.#allCame = new Promise((resolve) => {
      this.#came = resolve;
    });
  }

  /** A store that takes part. */
  in(store: StateStore): StateStore {
    const mark: StateStore['mark'] = async (kind, id, marks, expected) => {
      if (expected.consumed === null && --this.#missing === 0) this.#came();
      if (marks.settled === '1') await this.#allCame;
      return await store.mark(kind, id, marks, expected);
    };
    return { ...store, mark };
  }
}
