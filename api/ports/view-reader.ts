/**
 * The view store as the API needs it: Redis or memory (infra/), held to one contract suite
 * (test/contracts/view-store.ts).
 */
export interface ViewReader {
  /**
   * Whole-key views by key (schemas/views/view-keys.ts), in order; null where absent. One round trip; views of one tag are of
   * the same moment. Throws StoreAwayError.
   */
  get(keys: readonly string[]): Promise<(Buffer | null)[]>;
  /** Some fields of one hash view, in order; null where absent. Calls of one tick share a round trip with `get`. */
  fields(key: string, fields: readonly string[]): Promise<(Buffer | null)[]>;
  /** Hears of every change to a view of the public layer from now on. One listener. */
  watch(listener: ChangeListener): void;
  /**
   * Resolves when the store can be reached and holds views; with the reason where it can't (docs/rules.md#ready-api).
   * `note`: what its operator should mend though reads are answered.
   */
  ready(): Promise<{ ready: true; note?: string } | { ready: false; reason: string }>;
  close(): Promise<void>;
}

export interface ChangeListener {
  /** This view changed. */
  changed(key: string): void;
  /** Anything may have changed (emptied store, connection lost). */
  allChanged(): void;
  /** Whether changes are surely heard: nothing may be kept while they are not. */
  hearing(hears: boolean): void;
}

/** The store can't be reached or does not answer in time: the reader gets 503 with Retry-After. */
export class StoreAwayError extends Error {
  override name = 'StoreAwayError';
}
