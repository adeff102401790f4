import type { RiderKind, ValueKind } from '../../schemas/views/view-keys.ts';

/**
 * The view store as the projector needs it: Redis or memory (infra/), held to one contract suite
 * (test/contracts/view-store.ts). Every view belongs to one of `tagCount` tags: the unit of fencing and of repair.
 * A view is named by its kind and the id of what it is about; how that is spelled as a key is the store's own.
 */

/** A view whose value is one key, to write; null deletes it. */
export interface ValueWrite {
  kind: ValueKind;
  id: string;
  value: Buffer | null;
}

/** Fields of one rider's hash, to write; null removes a field. */
export interface FieldsWrite {
  kind: RiderKind;
  id: string;
  fields: readonly FieldWrite[];
}

export interface FieldWrite {
  field: string;
  value: string | null;
}

export type ViewWrite = ValueWrite | FieldsWrite;

export type CommitResult =
  /** All of the batch is written. */
  | { committed: true }
  /** Nothing is written: `fenced`, a newer leader raised the fence; `lost`, the fence is not as this leader left it (emptied, restored or failed-over store). */
  | { committed: false; reason: 'fenced' | 'lost' };

/** What a listing finds under a tag. */
export type StoredView =
  | { tag: number; kind: ValueKind; id: string; digest: string }
  /** A hash: each field is a view. */
  | { tag: number; kind: RiderKind; id: string; fields: Map<string, Buffer> };

export interface ViewWriter {
  /** Becomes the leader: an epoch above every fence and the store's clock, in ms, is put on every tag owned. */
  lead(tags: readonly number[]): Promise<void>;
  /** Puts this leader's fence on a tag whose fence was found lost, and takes back the word that the tag is complete. `fenced`: a newer leader is there. */
  refence(tag: number): Promise<CommitResult>;
  /**
   * Writes all of a batch or nothing (docs/rules.md#batch, #fence). One batch per tag in flight at a time. An empty
   * batch only checks and moves the fence.
   */
  commit(tag: number, writes: readonly ViewWrite[]): Promise<CommitResult>;
  /** The position last written, as it was written; null where there is none. */
  position(): Promise<string | null>;
  /** Every view stored under the given tags, in no order; may repeat one; one written meanwhile may be missing. */
  list(tags: readonly number[]): AsyncIterable<StoredView>;
  close(): Promise<void>;
}
