import { silentMsMax } from '../../../projector/ports/leading.ts';

/** What a tag's keys say of its stamp, all read at the same moment. */
export interface StampLook {
  /** What moves while the tag is led (redis-keys.ts, `beating`). */
  fence: string | null;
  /** The sign of life of a projector that stands by. */
  coming: string | null;
  /** The Redis process that the tag is complete in, as its leader says (docs/rules.md#complete). */
  stamp: string | null;
  nowMs: number;
}

/** Whether the views of a tag may be answered from. */
export type TagBelief =
  | { at: 'unseen' }
  /** Not stamped for this process. Neither fence nor `coming` has moved since `sinceMs`. */
  | { at: 'doubted'; seen: string; sinceMs: number }
  /** A leader has said that the tag is complete in this very process. */
  | { at: 'stamped' }
  /** Not stamped, but no projector has run for long. */
  | { at: 'silent'; seen: string };

export function lookedAt(tag: TagBelief, look: StampLook, processes: ReadonlySet<string>): TagBelief {
  if (look.stamp !== null && processes.has(look.stamp)) return { at: 'stamped' };
  // Another process answered, or the store was emptied. No view that is there is older for that. Whether an absent view is
  // truly absent, `isComplete` decides.
  if (tag.at === 'stamped') return tag;
  const seen = `${look.fence} ${look.coming}`;
  if (tag.at === 'unseen' || tag.seen !== seen) return { at: 'doubted', seen, sinceMs: look.nowMs };
  if (tag.at === 'doubted' && look.nowMs - tag.sinceMs > silentMsMax) return { at: 'silent', seen };
  return tag;
}

/** What the read guard knows of failovers: which Redis processes there are, and which tags may be answered from. No I/O. */
export class FailoverState {
  readonly #tags: TagBelief[];
  /** Counts changes of connections: an answer from before a change says nothing after it. */
  #connection = 0;
  /** The Redis processes of the masters as they were identified last, and whether they were since the last change. */
  #known: ReadonlySet<string> = new Set();
  #isIdentified = false;

  constructor(allTags: readonly number[]) {
    this.#tags = allTags.map(() => ({ at: 'unseen' }));
  }

  /** To be passed to `identify` and `look`. */
  get connection(): number {
    return this.#connection;
  }

  /** Tags to be looked at: all that are not stamped. */
  get unstamped(): readonly number[] {
    return this.#tags.flatMap(({ at }, tag) => (at === 'stamped' ? [] : [tag]));
  }

  /** Whether every tag may be answered from. */
  get settled(): boolean {
    return this.covers(this.#tags.keys());
  }

  covers(tags: Iterable<number>): boolean {
    if (!this.#isIdentified) return false;
    for (const tag of tags) {
      const { at } = this.#tags[tag]!;
      if (at === 'unseen' || at === 'doubted') return false;
    }
    return true;
  }

  /** Whether a stamp, just read, says that the absence of a view of this tag is true (docs/rules.md#absence). */
  isComplete(tag: number, stamp: string): boolean {
    if (this.#known.has(stamp)) return true;
    const { at } = this.#tags[tag]!;
    // The tag was stamped for another process: this one has taken over unseen.
    if (at === 'stamped') this.#tags[tag] = { at: 'unseen' };
    return at === 'silent';
  }

  /** A connection was lost or made, or a node came or went: the processes must be identified again. */
  connectionChanged(): void {
    this.#connection += 1;
    this.#isIdentified = false;
  }

  /**
   * The masters' processes, asked for while `connection` was as given. If one of them is new, every tag must be looked at
   * again.
   */
  identify(connection: number, processes: readonly string[]): void {
    if (connection !== this.#connection) return;
    if (processes.some((id) => !this.#known.has(id))) this.#tags.fill({ at: 'unseen' });
    this.#known = new Set(processes);
    this.#isIdentified = true;
  }

  look(connection: number, tag: number, look: StampLook): void {
    if (connection === this.#connection) this.#tags[tag] = lookedAt(this.#tags[tag]!, look, this.#known);
  }
}
