import type { EventLog, LogBounds, Position, Reject } from '../../projector/ports/event-log.ts';
import { positionOf } from '../../projector/position/position.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { followToEnds } from '../backends/follow-to-ends.ts';
import { rejectPlace } from './rejected-log.ts';

/** Where a record is in its topic, and its timestamp. */
export interface RecordPlace {
  partition: number;
  offset: number;
  timestampMs: number;
}

/**
 * What the log holds of the keys of bad records. A bad record may come from another log: `archive load` keeps its place
 * in the log that was saved. Then its timestamp says what came later (docs/rules.md#resubmitted-records).
 */
export class RecordsOfRejects {
  readonly #records = new Map<string, RecordPlace[]>();
  /** What is at the places of the bad records: key and timestamp. */
  readonly #atPlace = new Map<string, string | null>();
  readonly #metKeys = new Set<string>();
  readonly #ends: Position;

  private constructor(rejects: readonly Reject[], ends: Position) {
    this.#ends = ends;
    for (const reject of rejects) {
      this.#records.set(keyText(reject.topic, reject.raw.key), []);
      this.#atPlace.set(rejectPlace(reject), null);
    }
  }

  /** Reads the log from a position on to its bounds. */
  static async read(
    rejects: readonly Reject[],
    log: EventLog,
    from: Position,
    bounds: LogBounds,
    signal: AbortSignal,
  ): Promise<RecordsOfRejects> {
    const ends = positionOf(bounds, 'end');
    const found = new RecordsOfRejects(rejects, ends);
    await followToEnds(log, from, bounds, signal, ({ topic, partition, records }) => {
      for (const { offset, keyBytes, timestampMs } of records) {
        if (offset < ends[topic][partition]!) found.add(topic, keyBytes, { partition, offset, timestampMs });
      }
    });
    return found;
  }

  add(topic: TopicName, keyBytes: Buffer | null, record: RecordPlace): void {
    const key = keyText(topic, keyBytes);
    this.#records.get(key)?.push(record);
    const place = rejectPlace({ topic, ...record });
    if (this.#atPlace.has(place)) this.#atPlace.set(place, `${key} ${record.timestampMs}`);
  }

  /** The log's records of a bad record's key, in the order in which they were read. */
  of({ topic, raw }: Reject): readonly RecordPlace[] {
    return this.#records.get(keyText(topic, raw.key))!;
  }

  /** The partition that a bad record's key is in. Undefined: none holds it, and the record came from another log. */
  partitionOf(reject: Reject): number | undefined {
    if (this.#isAtPlace(reject)) return reject.partition;
    return this.of(reject).at(-1)?.partition ?? (this.#mayBeGone(reject) ? reject.partition : undefined);
  }

  /**
   * Whether a bad record's key has had a later record. Ask about the newest bad records first: of those from another log
   * an older one is superseded by a newer one.
   */
  hasLater(reject: Reject): boolean {
    const { topic, partition, offset, timestampMs, raw } = reject;
    const records = this.of(reject);
    const isFollowed = records.some((one) => one.partition === partition && one.offset > offset);
    const key = keyText(topic, raw.key);
    const hasNewer = this.#metKeys.has(key) || records.some((one) => one.timestampMs >= timestampMs);
    this.#metKeys.add(key);
    if (this.#isAtPlace(reject)) return isFollowed;
    return hasNewer || (isFollowed && this.#mayBeGone(reject));
  }

  /** Whether a bad record's place is empty. Then it may be of this log, and was compacted away or deleted. */
  #mayBeGone(reject: Reject): boolean {
    const { topic, partition, offset } = reject;
    // No record has been at an offset behind the end.
    return this.#atPlace.get(rejectPlace(reject)) === null && offset < (this.#ends[topic][partition] ?? 0);
  }

  #isAtPlace(reject: Reject): boolean {
    const { topic, timestampMs, raw } = reject;
    return this.#atPlace.get(rejectPlace(reject)) === `${keyText(topic, raw.key)} ${timestampMs}`;
  }
}

const keyText = (topic: string, key: Buffer | null): string =>
  `${topic} ${key === null ? '-' : key.toString('base64')}`;
