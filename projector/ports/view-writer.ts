import type { RiderKind, ValueKind } from '../../schemas/views/view-keys.ts';

/**
 * The view store as the projector needs it. Redis and memory implement it (infra/), and one contract suite tests both
 * (test/contracts/view-store.ts). Every view belongs to one of `tagCount` tags: the unit of fencing and of repair. A
 * view is identified by its kind and an id; the store decides how to spell that as a key.
 */

/** A view that is one key's value, to write. Null deletes it. */
export interface ValueWrite {
  kind: ValueKind;
  id: string;
  value: Buffer | null;
}

/** Fields of one rider's hash, to write. Null removes a field. */
export interface FieldsWrite {
  kind: RiderKind;
  id: string;
  fields: readonly FieldWrite[];
  /** Whatever the key holds goes first: it is no hash. */
  replaces?: true;
}

export interface FieldWrite {
  field: string;
  value: string | null;
}

export type ViewWrite = ValueWrite | FieldsWrite;

export type CommitResult =
  /** The whole batch is written. */
  | { committed: true }
  /**
   * Nothing is written. `fenced`: a newer leader raised the fence. `lost`: the fence is not as this leader left it
   * (emptied, restored or failed-over store).
   */
  | { committed: false; reason: 'fenced' | 'lost' };

/** What a listing finds under a tag. */
export type StoredView =
  /** The digest of a key that holds no value of ours, but something of another type, is null. */
  | { tag: number; kind: ValueKind; id: string; digest: string | null }
  /** A hash. Each field is a view. Null: the key holds something else. */
  | { tag: number; kind: RiderKind; id: string; fields: Map<string, Buffer> | null };

export interface ViewWriter {
  /** Becomes the leader: puts a new epoch on every owned tag, above every fence and above the store's clock in ms. */
  lead(tags: readonly number[]): Promise<void>;
  /**
   * Puts this leader's fence on a tag whose fence was found lost, and marks the tag as incomplete. `fenced`: there is a
   * newer leader.
   */
  refence(tag: number): Promise<CommitResult>;
  /**
   * Writes all of a batch or nothing (docs/rules.md#batch, #fence). One batch per tag is in flight at a time. An empty
   * batch only checks and moves the fence.
   */
  commit(tag: number, writes: readonly ViewWrite[]): Promise<CommitResult>;
  /** The position last written, unchanged. Null if there is none. */
  position(): Promise<string | null>;
  /**
   * Every view stored under the given tags, in no particular order. May repeat a view. May miss one that is written
   * meanwhile.
   */
  list(tags: readonly number[]): AsyncIterable<StoredView>;
  close(): Promise<void>;
}
