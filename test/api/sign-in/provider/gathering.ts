import type { StateStore } from '../../../../api/ports/sign-in-state.ts';

/** Makes uses of codes and tokens truly parallel, also at several instances, however busy the machine is. */
export class Gathering {
  #missing = 0;
  #allCame = Promise.withResolvers<void>();

  /** The next use is not counted before so many requests are about to be. */
  of(count: number): void {
    this.#missing = count;
    this.#allCame = Promise.withResolvers();
  }

  /** A store that takes part. */
  in(store: StateStore): StateStore {
    return {
      ...store,
      use: async (...use) => {
        if (--this.#missing <= 0) this.#allCame.resolve();
        await this.#allCame.promise;
        return await store.use(...use);
      },
    };
  }
}
