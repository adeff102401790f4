import type { StateStore } from '../../api/oauth/state-store.ts';

/** Makes redemptions truly parallel, also at several instances, however busy the machine is. */
export class Gathering {
  #missing = 0;
  #allCame = Promise.resolve();
  #came = (): void => {};

  /** The next redemption is not answered before so many requests have seen what they want to redeem. */
  of(count: number): void {
    this.#missing = count;
    this.#allCame = new Promise((resolve) => {
      this.#came = resolve;
    });
  }

  /** A store that takes part. */
  in(store: StateStore): StateStore {
    return {
      ...store,
      find: async (kind, id) => {
        const entry = await store.find(kind, id);
        if (['AuthorizationCode', 'RefreshToken'].includes(kind) && --this.#missing === 0) this.#came();
        return entry;
      },
      swap: async (swaps) => {
        if (swaps.some(({ to }) => to?.includes('"answered"'))) await this.#allCame;
        return await store.swap(swaps);
      },
    };
  }
}
