import type { StoredName, StoredView } from './view-writer.ts';

/** What a tag's keys that are no views say. */
export interface LiveNotes {
  /** Moves with each batch of the leader and with each beat; empty where there is none. */
  fence: string;
  /** The stored position, as it was written; null where there is none. */
  position: string | null;
  /** The open list says that the tag's views must be compared. */
  compare: boolean;
}

/** The view store of a running service, looked at from beside it: views are only read. */
export interface LiveViews {
  /**
   * Every key of the generation that is a view, with its whole value, and every one that should not exist, in no order.
   * The tag -1 is none. It may return a key twice, and may miss one that is written meanwhile.
   */
  list(): AsyncIterable<StoredView>;
  /** What is stored under these names now, with whole values, in their order. Null: nothing. */
  read(names: readonly StoredName[]): Promise<(StoredView | null)[]>;
  notes(tags: readonly number[]): Promise<LiveNotes[]>;
  /** Asks the tags' leaders to compare and mend them: their open lists say so. */
  askCompare(tags: readonly number[]): Promise<void>;
  spell(name: StoredName): string;
  close(): Promise<void>;
}
