// Three times as long as a projector needs to find its connection again: after that there is none.
const silenceMaxMs = 10_000;

/** The Redis processes of the masters. `connection` counts changes: what was asked before one says nothing after it. */
type Masters =
  | { at: 'unidentified'; connection: number; known: ReadonlySet<string> | null }
  | { at: 'identified'; connection: number; known: ReadonlySet<string> };

/** A tag that another Redis process holds now. The fence is null where there is none. */
export type TagInQuestion =
  | { at: 'unseen' }
  /** Its fence has stood still since it was first seen. */
  | { at: 'still'; fence: string | null; sinceMs: number }
  /** Its fence moved, last at `sinceMs`: a projector writes to this Redis. */
  | { at: 'moved'; fence: string | null; sinceMs: number };

/** What a tag looks like at one moment. Fence and completeness must be of the same moment. */
export interface TagLook {
  fence: string | null;
  complete: boolean;
  nowMs: number;
}

type Transitions = {
  [At in TagInQuestion['at']]: (tag: Extract<TagInQuestion, { at: At }>, look: TagLook) => TagInQuestion | null;
};

const transitions: Transitions = {
  unseen: (_, { fence, nowMs }) => ({ at: 'still', fence, sinceMs: nowMs }),
  still(tag, look) {
    if (tag.fence === look.fence) return isSilent(tag, look) ? null : tag;
    return look.complete ? null : { at: 'moved', fence: look.fence, sinceMs: look.nowMs };
  },
  moved(tag, look) {
    if (look.complete) return null;
    if (tag.fence === look.fence) return isSilent(tag, look) ? null : tag;
    return { at: 'moved', fence: look.fence, sinceMs: look.nowMs };
  },
};

const isSilent = ({ sinceMs }: { sinceMs: number }, { nowMs }: TagLook): boolean => nowMs - sinceMs > silenceMaxMs;

/** The tag after a look at it; null: no longer in question. */
export function lookedAt(tag: TagInQuestion, look: TagLook): TagInQuestion | null {
  const transition = transitions[tag.at] as (tag: TagInQuestion, look: TagLook) => TagInQuestion | null;
  return transition(tag, look);
}

/** What the failover guard knows, without I/O: which Redis processes there are, and which tags are in question. */
export class FailoverState {
  readonly #allTags: readonly number[];
  readonly #inQuestion = new Map<number, TagInQuestion>();
  #masters: Masters = { at: 'unidentified', connection: 0, known: null };

  constructor(allTags: readonly number[]) {
    this.#allTags = allTags;
  }

  get identified(): boolean {
    return this.#masters.at === 'identified';
  }

  /** To be handed back to `identify`. */
  get connection(): number {
    return this.#masters.connection;
  }

  get inQuestion(): readonly number[] {
    return [...this.#inQuestion.keys()];
  }

  /** Whether every view may be answered from. */
  get settled(): boolean {
    return this.identified && this.#inQuestion.size === 0;
  }

  covers(tags: Iterable<number>): boolean {
    if (!this.identified) return false;
    if (this.#inQuestion.size > 0) for (const tag of tags) if (this.#inQuestion.has(tag)) return false;
    return true;
  }

  /** A connection was lost or made, or a node came or went: the processes must be identified again. */
  connectionChanged(): void {
    const { connection, known } = this.#masters;
    this.#masters = { at: 'unidentified', connection: connection + 1, known };
  }

  /**
   * The masters' run ids, null for one that does not tell, asked while `connection` was as given. Puts every tag in
   * question where a process is another one than before.
   */
  identify(connection: number, runIds: readonly (string | null)[]): void {
    const { known, connection: current } = this.#masters;
    if (connection !== current) return;
    // A Redis that doesn't tell is another one after each connection.
    const ids = new Set(runIds.map((runId) => runId ?? `unknown-${connection}`));
    if (known !== null && [...ids].some((id) => !known.has(id))) {
      for (const tag of this.#allTags) this.#inQuestion.set(tag, { at: 'unseen' });
    }
    this.#masters = { at: 'identified', connection, known: ids };
  }

  look(tag: number, look: TagLook): void {
    const before = this.#inQuestion.get(tag);
    if (!before) return;
    const after = lookedAt(before, look);
    if (after) this.#inQuestion.set(tag, after);
    else this.#inQuestion.delete(tag);
  }
}
