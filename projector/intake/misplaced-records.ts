import { type Partitioners, partitionFor } from '../../schemas/events/partitioner.ts';
import { RecordKey } from '../../schemas/events/record-keys.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import type { EncodedRecord } from '../ports/event-log.ts';
import { countText } from '../running/log.ts';

/**
 * Counts, by topic, records in another partition than the declared partitioner gives their key, and keeps the first one's
 * place, `rides/3@17` (docs/rules.md#one-partition-per-key). Such a key may be in two partitions, and then it is unknown
 * which of its records is the last.
 */
export class MisplacedRecords {
  readonly found = new Map<TopicName, { records: number; first: string }>();
  readonly #partitioners: Partitioners;
  readonly #key = new RecordKey();

  constructor(partitioners: Partitioners) {
    this.#partitioners = partitioners;
  }

  /** Takes a record of a topic of so many partitions. Returns whether it is misplaced. */
  take({ topic, partition, offset, keyBytes }: Placed, partitions: number): boolean {
    if (keyBytes === null) return false;
    const wanted = partitionFor(this.#partitioners[topic], keyBytes, partitions);
    // Only well-formed keys count. They are looked at last, because nearly every record is where it belongs.
    if (wanted === null || wanted === partition || this.#key.set(topic, keyBytes) !== null) return false;
    const one = this.found.get(topic);
    if (one) one.records++;
    else this.found.set(topic, { records: 1, first: `${topic}/${partition}@${offset}` });
    return true;
  }

  /** A line for each topic that has some, in words that everybody may read. */
  get lines(): string[] {
    return [...this.found.keys()].map((topic) => this.line(topic));
  }

  line(topic: TopicName): string {
    const { records, first } = this.found.get(topic)!;
    const why = `${this.#partitioners[topic]} (KAFKA_PARTITIONER) gives its key another partition`;
    return `${countText(records, 'misplaced record')} of ${topic}, the first at ${first}: ${why}`;
  }
}

type Placed = Pick<EncodedRecord, 'topic' | 'partition' | 'offset' | 'keyBytes'>;

/** What to do about misplaced records. */
export const misplacedFix =
  'such a key may be in two partitions, where its order is unknown: set KAFKA_PARTITIONER to what the producers use, or put a log of mixed producers, or of a topic that grew, back together by archive load --repartition';
