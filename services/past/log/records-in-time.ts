import type { Fold } from '../../../projector/facts/fold.ts';
import { Validator } from '../../../projector/intake/validator.ts';
import type { EncodedRecord } from '../../../projector/ports/event-log.ts';
import { decodeKey, decodeWith } from '../../../schemas/avro/codec.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import { PartitionCursor, type PastSources } from './past-records.ts';
import { instantText } from './past-time.ts';

type Bytes = Pick<
  EncodedRecord,
  'topic' | 'partition' | 'offset' | 'timestampMs' | 'keyBytes' | 'valueBytes' | 'decoder'
>;

/** A record, and the time from which it counts. Its bytes are a copy that stays valid. */
export class TimedRecord {
  readonly bytes: Bytes;
  readonly timeMs: number;
  /** The latest time of its partition's records up to this one. */
  readonly latestMs: number;
  /** The index of its partition in the topic's list. */
  readonly source: number;

  constructor({ encoded, timeMs, latestMs }: PartitionCursor, source: number) {
    const { topic, partition, offset, timestampMs, keyBytes, valueBytes, decoder } = encoded!;
    this.bytes = {
      topic,
      partition,
      offset,
      timestampMs,
      decoder,
      keyBytes: own(keyBytes),
      valueBytes: own(valueBytes),
    };
    this.timeMs = timeMs;
    this.latestMs = latestMs;
    this.source = source;
  }

  /** Its key. Null if it is not UTF-8: then the record is bad. */
  get key(): string | null {
    const key = decodeKey(this.bytes.keyBytes);
    return 'key' in key ? key.key : null;
  }

  /** Its value, decoded with all its texts. Null for a tombstone, and for a value that cannot be decoded. */
  get value(): AnyRecord | null {
    const { valueBytes, decoder } = this.bytes;
    const read = valueBytes === null ? null : decodeWith(decoder!, valueBytes);
    return read && 'value' in read ? read.value : null;
  }
}

const own = (bytes: Buffer | null): Buffer | null => bytes && Buffer.from(bytes);

/** A record's place and time, without its content. */
export function placeOf({ bytes, key, value }: TimedRecord) {
  const { topic, partition, offset, timestampMs } = bytes;
  return {
    topic,
    partition,
    offset,
    key,
    timestamp: instantText(timestampMs),
    changed_at: value && instantText(Number(value.changed_at)),
    /** The entity is gone. */
    tombstone: value === null,
  };
}

export function placeText(timed: TimedRecord): string {
  const { topic, partition, offset, key, tombstone } = placeOf(timed);
  return `${topic}/${partition}@${offset} ${key}${tombstone ? ' (deleted)' : ''}`;
}

/** The signal is checked after this many records. */
const turnRecords = 4_096;

/**
 * The records of all partitions in the order of their times. Example: a record of 10:00 stands behind one of 11:00 in
 * its partition; it comes first all the same. So the records applied up to an instant are those that count at it.
 */
export class RecordsInTime {
  readonly #sources: PastSources;
  readonly #late: readonly TimedRecord[];
  /** Topics that have records out of order. */
  readonly lateTopics: ReadonlySet<TopicName>;

  private constructor(sources: PastSources, late: TimedRecord[]) {
    this.#sources = sources;
    this.#late = late.sort(compareTimed);
    this.lateTopics = new Set(late.map(({ bytes }) => bytes.topic));
  }

  /**
   * Reads the log once and keeps the records that are out of order in memory. Throws ArchiveError, or the signal's
   * reason.
   */
  static async open(sources: PastSources, signal: AbortSignal): Promise<RecordsInTime> {
    const late: TimedRecord[] = [];
    for (const [source, partition] of sources.partitions.entries()) {
      const cursor = new PartitionCursor(sources, partition);
      try {
        while (await cursor.fill()) {
          signal.throwIfAborted();
          for (; cursor.encoded !== null; cursor.step()) if (cursor.isLate) late.push(new TimedRecord(cursor, source));
        }
      } finally {
        await cursor.close();
      }
    }
    return new RecordsInTime(sources, late);
  }

  /** The records up to an instant, in groups of one time each. */
  async *groups(untilMs: number, signal: AbortSignal): AsyncGenerator<TimedRecord[]> {
    let group: TimedRecord[] = [];
    let read = 0;
    for await (const timed of this.#records()) {
      if (timed.timeMs > untilMs) break;
      if (group.length > 0 && group[0]!.timeMs !== timed.timeMs) {
        yield group;
        group = [];
      }
      group.push(timed);
      if (++read % turnRecords === 0) signal.throwIfAborted();
    }
    if (group.length > 0) yield group;
  }

  async *#records(): AsyncGenerator<TimedRecord> {
    const cursors = this.#sources.partitions.map((partition) => new PartitionCursor(this.#sources, partition));
    const heads: (TimedRecord | null)[] = [];
    try {
      for (const [source, cursor] of cursors.entries()) heads.push(await nextInOrder(cursor, source));
      for (let late = 0; ; ) {
        let first: TimedRecord | null = this.#late[late] ?? null;
        for (const head of heads) if (head && (first === null || compareTimed(head, first) < 0)) first = head;
        if (first === null) return;
        const { source } = first;
        if (first === this.#late[late]) late++;
        else {
          cursors[source]!.step();
          heads[source] = await nextInOrder(cursors[source]!, source);
        }
        yield first;
      }
    } finally {
      for (const cursor of cursors) await cursor.close();
    }
  }
}

const compareTimed = (a: TimedRecord, b: TimedRecord): number =>
  a.timeMs - b.timeMs || a.source - b.source || a.bytes.offset - b.bytes.offset;

/** The next record that is not out of order. Null at the end. */
async function nextInOrder(cursor: PartitionCursor, source: number): Promise<TimedRecord | null> {
  for (;;) {
    if (cursor.encoded === null && !(await cursor.fill())) return null;
    if (!cursor.isLate) return new TimedRecord(cursor, source);
    cursor.step();
  }
}

const validator = new Validator();

/** Which of a key's records counts. */
interface Rank {
  offset: number;
  latestMs: number;
  source: number;
}

/** Folds records in the order of their times. The facts are the same as those of a fold in the log's order. */
export class FoldInTime {
  readonly #fold: Fold;
  readonly #lateTopics: ReadonlySet<TopicName>;
  /** The record that counts, by key. Only for topics that have records out of order. */
  readonly #last = new Map<string, Rank>();

  constructor(fold: Fold, { lateTopics }: RecordsInTime) {
    this.#fold = fold;
    this.#lateTopics = lateTopics;
  }

  /** Whether the record counts: it is good, and at its time no later record of its key counted already. */
  take(timed: TimedRecord): boolean {
    if (validator.validate(timed.bytes) !== null || this.#isSuperseded(timed)) return false;
    this.#fold.apply(timed.bytes.topic, validator.key, validator.value as never);
    return true;
  }

  #isSuperseded(timed: TimedRecord): boolean {
    const { topic, offset } = timed.bytes;
    if (!this.#lateTopics.has(topic)) return false;
    const key = `${topic} ${timed.key}`;
    const { latestMs, source } = timed;
    const rank = { offset, latestMs, source };
    const last = this.#last.get(key);
    if (last && compareRank(rank, last) < 0) return true;
    this.#last.set(key, rank);
    return false;
  }
}

/**
 * Which of two records of a key counts: in one partition the last one, in two partitions the one with the latest time.
 */
const compareRank = (a: Rank, b: Rank): number =>
  a.source === b.source ? a.offset - b.offset : a.latestMs - b.latestMs || a.source - b.source;
