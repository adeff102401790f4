import type { TopicName } from '../../schemas/events/records.ts';
import { LargeMap, LargeSet } from '../facts/large-map.ts';
import type { EncodedRecord } from '../ports/event-log.ts';

/** For each key of a topic whose last record is bad, that record. */
interface TopicRejects {
  reasons: LargeMap<string, string>;
  /**
   * Marks of these keys. For most records of a log, the mark alone shows that the key is not among them, without making
   * a string.
   */
  marks: LargeSet<number>;
}

/**
 * Bad records that are still the last of their key: the ones to look into. A later record of the key, good or bad,
 * replaces them, as in the log (docs/rules.md#last-good-record). So every projector counts the same after every start.
 */
export class UnresolvedRejects {
  readonly #topics = new Map<TopicName, TopicRejects>();
  readonly #byReason = new Map<string, number>();

  /** How many there are, by reason. */
  get byReason(): ReadonlyMap<string, number> {
    return this.#byReason;
  }

  /** A bad record was found. `key` is null if it has none; then nothing can replace it. */
  rejected(topic: TopicName, key: Buffer | null, reason: string): void {
    this.#count(reason, 1);
    if (key === null) return;
    let rejects = this.#topics.get(topic);
    if (!rejects) {
      rejects = { reasons: new LargeMap(), marks: new LargeSet() };
      this.#topics.set(topic, rejects);
    }
    const text = textOf(key);
    const before = rejects.reasons.get(text);
    if (before !== undefined) this.#count(before, -1);
    rejects.reasons.set(text, reason);
    rejects.marks.add(markOf(key));
  }

  /** A good record was found. */
  passed({ topic, keyBytes: key }: Pick<EncodedRecord, 'topic' | 'keyBytes'>): void {
    const rejects = this.#topics.get(topic);
    if (!rejects || key === null) return;
    if (!rejects.marks.has(markOf(key))) return;
    const text = textOf(key);
    const reason = rejects.reasons.get(text);
    if (reason === undefined) return;
    this.#count(reason, -1);
    rejects.reasons.delete(text);
    // Several keys may have one mark, so all marks are removed together.
    if (rejects.reasons.size === 0) this.#topics.delete(topic);
  }

  #count(reason: string, more: number): void {
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + more);
  }
}

/** One character per byte, because keys may not be UTF-8. */
const textOf = (key: Buffer): string => key.toString('latin1');

/** The key's length and its last three bytes. */
function markOf(key: Buffer): number {
  const { length } = key;
  return (length << 24) ^ ((key[length - 1] ?? 0) << 16) ^ ((key[length - 2] ?? 0) << 8) ^ (key[length - 3] ?? 0);
}
