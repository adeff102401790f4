import type { UndecodableKind } from '../../schemas/avro/undecodable.ts';
import { byTopic, type TopicName } from '../../schemas/events/records.ts';
import { LargeMap } from '../facts/large-map.ts';
import type { EncodedRecord } from '../ports/event-log.ts';
import { countText } from '../running/log.ts';

const unknownSchema: readonly UndecodableKind[] = ['unknown fingerprint', 'unknown schema id'];

/** What operators are told of these. Empty where there are none. */
export const unknownSchemaWords = (records: number): string =>
  records === 0
    ? ''
    : `${countText(records, 'record')} of a schema that nobody knows: rejected, and still the last of their key. Put the schema into WRITER_SCHEMAS, and restart the projectors; rejected list says which it is`;

/**
 * Bad records that are still the last of their key: the ones to look into. A later record of the key, good or bad,
 * replaces them, as in the log (docs/rules.md#last-good-record). So every projector counts the same after every start.
 */
export class UnresolvedRejects {
  /** For each key of a topic whose last record is bad, why it is. */
  readonly #reasons = byTopic(() => new LargeMap<string, string>());
  readonly #byReason = new Map<string, number>();

  get byReason(): ReadonlyMap<string, number> {
    return this.#byReason;
  }

  /** How many are of a writer's schema that nobody knows (docs/rules.md#unknown-schema). */
  get ofUnknownSchemas(): number {
    return unknownSchema.reduce((sum, reason) => sum + (this.#byReason.get(reason) ?? 0), 0);
  }

  /** A bad record was found. `key` is null if it has none; then nothing can replace it. */
  rejected(topic: TopicName, key: Buffer | null, reason: string): void {
    this.passed({ topic, keyBytes: key });
    this.#count(reason, 1);
    if (key !== null) this.#reasons[topic].set(textOf(key), reason);
  }

  /** A good record was found. */
  passed({ topic, keyBytes: key }: Pick<EncodedRecord, 'topic' | 'keyBytes'>): void {
    const reasons = this.#reasons[topic];
    // As in most logs.
    if (reasons.size === 0 || key === null) return;
    const text = textOf(key);
    const reason = reasons.get(text);
    if (reason === undefined) return;
    this.#count(reason, -1);
    reasons.delete(text);
  }

  #count(reason: string, more: number): void {
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + more);
  }
}

/** One character per byte, because keys may not be UTF-8. */
const textOf = (key: Buffer): string => key.toString('latin1');
