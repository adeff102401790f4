/** The view store as the API needs it. Its adapters pass one suite of contracts (test/contracts/view-store.ts). */
export interface ViewReader {
  /**
   * Views by key (schemas/views/view-keys.ts), in order; null if absent. One round trip, or two where one is absent.
   * Views of one tag are read at the same moment. Throws StoreAwayError.
   * @example const [day] = await reader.get([dayKey('portland', '2015-06-13')])
   */
  get(keys: readonly string[]): Promise<(Buffer | null)[]>;
  /** Some fields of one hash view, in order; null if absent. Calls in one tick share a round trip with `get`. */
  fields(key: string, fields: readonly string[]): Promise<(Buffer | null)[]>;
  /** Calls the listener for every change to a public view from now on. There is one listener. */
  listen(listener: ChangeListener): void;
  /**
   * Called before each answer from the cache. If this process was paused, it may not have heard all changes, and this
   * tells the listener. Absent where a pause hides no change.
   */
  noticePause?(): void;
  /**
   * Whether the store can be reached and holds views, with the reason if not (docs/rules.md#ready-api). `note`: what
   * the operator should mend, although reads are answered.
   */
  ready(): Promise<{ ready: true; note?: string } | { ready: false; reason: string }>;
  /** How many tags no projector leads. Null: it is not known. Absent where the views are in this process. */
  unledTags?(): number | null;
  /** Absent where the views are in this process. */
  memory?(): Promise<StoreMemory>;
  close(): Promise<void>;
}

/** How full a store is. Of several servers, the fullest. */
export interface StoreMemory {
  usedBytes: number;
  /** Beyond it the store takes no writes. Infinity: it does not say. */
  limitBytes: number;
}

export interface ChangeListener {
  changed(key: string): void;
  /** Any view may have changed (emptied store, lost connection). */
  allChanged(): void;
  /** Whether changes are reliably heard. While they are not, nothing may be cached. */
  hearing(hears: boolean): void;
}

/**
 * A store is away, too slow, or not known to be complete. The client gets 503 with Retry-After. Of sign-in's state everybody
 * may read the message (/readyz), so it names no address; `cause` may.
 */
export class StoreAwayError extends Error {
  override name = 'StoreAwayError';
}
