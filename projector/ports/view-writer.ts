import type { RiderKind, ValueKind } from '../../schemas/views/view-kinds.ts';

/**
 * The view store as the projector needs it: Redis or memory (infra/), held to one contract suite
 * (test/contracts/view-store.ts). Every view belongs to one of `tagCount` tags: the unit of fencing and of repair.
 * A view is named by its kind and the id of what it is about. How that is spelled as a key is up to the store.
 */

/**
 * The store is there, and refuses what is asked of it. The message names no address, so everybody may read it (/readyz).
 * `retry`: whether waiting may help. Without it nothing but another setting does.
 */
export class StoreRefusesError extends Error {
  override name = 'StoreRefusesError';
  readonly retry: boolean;
  constructor(message: string, { retry, cause }: { retry: boolean; cause?: unknown }) {
    super(message, { cause });
    this.retry = retry;
  }
}

/** A key of a tag that is no view: it should not be there. Its id says where it is, as the store spells it. */
type ForeignKind = 'foreign';

/** A view whose value is one key, to write; null deletes it. */
export interface ValueWrite {
  kind: ValueKind | ForeignKind;
  id: string;
  value: Buffer | null;
}

/** Fields of one rider's hash, to write; null removes a field. */
export interface FieldsWrite {
  kind: RiderKind;
  id: string;
  /** At most 1,000, so that a store can take them in one command. */
  fields: readonly FieldWrite[];
  /** Whatever the key holds goes first: it is no hash, or has fields that no write can name. These fields are all of it. */
  replaces?: true;
}

export interface FieldWrite {
  field: string;
  value: string | null;
}

export type ViewWrite = ValueWrite | FieldsWrite;

/** What a batch says of its tag beside its views, all in the same step (docs/rules.md#batch). */
export interface TagNotes {
  /** The round that writes the batch: its names go into the open list. Absent: they do not. */
  round?: number;
  /** A position to store, as text: the start of round `round`, which is finished. Names of older rounds leave the open list. */
  position?: { text: string; round: number };
  /** `begin`: the leader must compare the tag's views. `end`: it has, and the position says from when on. */
  compare?: 'begin' | 'end';
  /** The process of the store that the tag is complete in, as it was told before; empty: only asks which process it is. */
  stamp?: string;
}

/** What a beat of several tags says of them all. */
export interface BeatNotes {
  /** As of TagNotes. `cut`: those tags whose open lists may have names. */
  position?: { text: string; round: number; cut: readonly number[] };
  /** As of TagNotes. */
  stamp: string;
}

export type BeatResult =
  /** All tags are as they were left. `asked`: another text each time that somebody asked for a compare (LiveViews.askCompare). */
  { committed: true; process: string; asked: string } | Refused;

/** Nothing is written. `fenced`: another leader took the tag. `lost`: the fence is not as this leader left it (emptied, restored or failed-over store). */
interface Refused {
  committed: false;
  reason: 'fenced' | 'lost';
}

export type CommitResult =
  /** All of the batch is written. `process`: which process of the store answered, if that was asked; `compare`: the open list says so. */
  { committed: true; process: string; compare: boolean } | Refused;

/** Where a view, or a key that is none, is stored. */
export interface StoredName {
  tag: number;
  kind: ValueKind | RiderKind | ForeignKind;
  id: string;
}

export type StoredView =
  /** `bytes`: the digest that the value begins with, or where `whole`, all of it. Null: the key has another type. */
  | { tag: number; kind: ValueKind | ForeignKind; id: string; bytes: Buffer | null; whole: boolean }
  /** A hash. Each field is a view. Null: the key has another type. */
  | { tag: number; kind: RiderKind; id: string; fields: Map<string, Buffer> | null };

export interface ViewWriter {
  /**
   * Writes all of a batch or nothing (docs/rules.md#batch, #fence). At most one batch per tag may be in flight. An empty
   * batch only checks and moves the fence.
   */
  commit(tag: number, writes: readonly ViewWrite[], notes?: TagNotes): Promise<CommitResult>;
  /**
   * Checks the fences of some tags in one step, and moves only the first one's. It is a batch of each of them: no other may
   * be in flight. Null: each tag beats by itself, with an empty batch.
   */
  readonly beat: ((tags: readonly number[], notes: BeatNotes) => Promise<BeatResult>) | null;
  /**
   * Every view stored under the given tags, with the digests of values or where `whole` all of them, and every other key
   * there, in no order. It may return a view twice, and may miss one that is written meanwhile.
   */
  list(tags: readonly number[], whole?: boolean): AsyncIterable<StoredView>;
  /** What is stored under these names now, with whole values, in their order. Null: nothing. */
  read(names: readonly StoredName[]): Promise<(StoredView | null)[]>;
  /** How projectors take turns. Null: the store lives in this process, and has one projector. */
  readonly leadership: Leadership | null;
  close(): Promise<void>;
}

/** What a tag says of who leads: `epoch:sequence:owner:led|free`, empty where there is none. */
export interface TagLook {
  fence: string;
  /** The stored position, as it was written; null where there is none. */
  position: string | null;
}

/** A tag that was just taken, with what its leaders left there. */
export interface TakenTag {
  position: string | null;
  /** Names written since the round of the position began, as `openName` spells them. */
  open: readonly string[];
  /** The open list says that the views must be compared instead. */
  compare: boolean;
}

/** Fences: who may write to a tag (docs/rules.md#fence). One leader per writer. */
export interface Leadership {
  /** The tags as they are now, in the given order. */
  look(tags: readonly number[]): Promise<TagLook[]>;
  /** Whether a tag's leader has given it up. */
  isFree(tag: number): Promise<boolean>;
  /** Says that a projector is there and will lead: moves a key. */
  coming(tags: readonly number[]): Promise<void>;
  /** Says, for operators' commands, how old the oldest change is that is not readable. Null: all are. */
  unreadable(ageMs: number | null): Promise<void>;
  /**
   * Takes a tag if its fence is still the one that was seen; null if it is another one. `doubtful`: the store lost or
   * changed something of it, so that it is no longer complete, and its views must be compared.
   */
  take(tag: number, seen: string, doubtful: boolean): Promise<TakenTag | null>;
  /** Whether a fence is as this leader left it, or as a batch leaves it whose reply was lost. */
  isAsLeft(tag: number, fence: string): boolean;
  /** Bytes that the store has room for. Null: it does not say. */
  room(): Promise<number | null>;
  /** Gives a tag up: its fence says so. */
  free(tag: number): Promise<void>;
}

/** The names that a batch writes, as an open list keeps them: `day:portland/2015-06-13`, `reader:r1/f2015-06-13`. */
export function openNames(writes: readonly ViewWrite[]): string[] {
  return writes.flatMap((write) =>
    write.kind === 'reader'
      ? write.fields.map(({ field }) => `reader:${write.id}/${field}`)
      : [`${write.kind}:${write.id}`],
  );
}
