// Three times what a projector needs to reconnect. After that, no projector is running.
const silenceMaxMs = 10_000;

/**
 * The Redis processes of the masters. `connection` counts changes: an answer to a question asked before a change is out
 * of date.
 */
type Masters =
  | { at: 'unidentified'; connection: number; known: ReadonlySet<string> | null }
  | { at: 'identified'; connection: number; known: ReadonlySet<string> };

/** A tag that another Redis process holds now. The fence is null if there is none. */
export type TagInQuestion =
  | { at: 'unseen' }
  /** Its fence has not moved since it was first seen. */
  | { at: 'still'; fence: string | null; sinceMs: number }
  /** Its fence moved, last at `sinceMs`. So a projector writes to this Redis. */
  | { at: 'moved'; fence: string | null; sinceMs: number };

/** A tag's state at one moment. Fence and completeness must be read at the same moment. */
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

/** The tag's next state after a look at it. Null: no longer in question. */
export function lookedAt(tag: TagInQuestion, look: TagLook): TagInQuestion | null {
  const transition = transitions[tag.at] as (tag: TagInQuestion, look: TagLook) => TagInQuestion | null;
  return transition(tag, look);
}

/** The failover guard's state, without I/O: which Redis processes there are, and which tags are in question. */
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

  /** To be passed back to `identify`. */
  get connection(): number {
    return this.#masters.connection;
  }

  get inQuestion(): readonly number[] {
    return [...this.#inQuestion.keys()];
  }

  /** Whether all views may be read. */
  get settled(): boolean {
    return this.identified && this.#inQuestion.size === 0;
  }

  covers(tags: Iterable<number>): boolean {
    if (!this.identified) return false;
    if (this.#inQuestion.size > 0) for (const tag of tags) if (this.#inQuestion.has(tag)) return false;
    return true;
  }

  /** A connection was lost or made, or a node was added or removed: the processes must be identified again. */
  connectionChanged(): void {
    const { connection, known } = this.#masters;
    this.#masters = { at: 'unidentified', connection: connection + 1, known };
  }

  /**
   * The masters' run ids, null for a master that does not tell, as asked while `connection` had this value. If a
   * process is a new one, puts all tags in question.
   */
  identify(connection: number, runIds: readonly (string | null)[]): void {
    const { known, connection: current } = this.#masters;
    if (connection !== current) return;
    // A Redis that does not tell its run id counts as a new process after each connection.
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
