import { decoded, type LogRecord, type UndecodableRecord } from '../../../projector/ports/decoded-record.ts';
import type { EncodedRecord, LogBounds } from '../../../projector/ports/event-log.ts';
import { clampedMs } from '../../../schemas/events/instants.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import type { ArchiveListing } from '../format/archive-files.ts';
import { recordsWithin } from './archive-partition.ts';

/** Which of a record's times counts: the log's timestamp, or upstream's `changed_at`. */
export const clocks = ['timestamp', 'changed_at'] as const;
export type RecordClock = (typeof clocks)[number];

type AnyLogRecord = LogRecord | UndecodableRecord;

/** The time from which a record counts. A tombstone and an undecodable record have no `changed_at`. */
const changedAtOf = (record: AnyLogRecord): number =>
  clampedMs('undecodable' in record || record.value === null ? record.timestampMs : record.value.changed_at);

/** A partition, and where reading it begins and ends. */
export interface PartitionSource {
  /** Its place in the list of all. */
  number: number;
  topic: TopicName;
  partition: number;
  low: number;
  /** Records at this offset and after it are left out. */
  end: number;
}

export interface ArchiveSources {
  listing: ArchiveListing;
  partitions: readonly PartitionSource[];
  by: RecordClock;
}

/** What to read of a log: all partitions, up to its bounds. */
export function sourcesOf(
  { listing, bounds }: { listing: ArchiveListing; bounds: LogBounds },
  by: RecordClock,
): ArchiveSources {
  const partitions = topicNames.flatMap((topic) =>
    bounds[topic].map(({ low, end }, partition) => ({ topic, partition, low, end })),
  );
  return { listing, partitions: partitions.map((one, number) => ({ number, ...one })), by };
}

/** One partition's records in the log's order, all or without those out of the order of times, with the latest time before each. */
export class PartitionCursor {
  readonly source: PartitionSource;
  readonly #by: RecordClock;
  readonly #skipsLate: boolean;
  readonly #blocks: AsyncGenerator<EncodedRecord[], void>;
  #records: readonly EncodedRecord[] = [];
  #decoded: AnyLogRecord | null = null;
  #at = -1;
  /** The next record, as bytes. Null: more must be read first, or all is read. */
  encoded: EncodedRecord | null = null;
  timeMs = 0;
  /** The latest time of the records up to this one. */
  latestMs = Number.NEGATIVE_INFINITY;

  constructor({ listing, by }: ArchiveSources, source: PartitionSource, skipsLate = false) {
    const { topic, partition } = source;
    this.source = source;
    this.#by = by;
    this.#skipsLate = skipsLate;
    this.#blocks = recordsWithin(source, listing[topic][partition] ?? [], source);
  }

  /** The next record, decoded with all its texts when it is first asked for. */
  get record(): AnyLogRecord | null {
    if (this.encoded !== null) this.#decoded ??= decoded(this.encoded);
    return this.#decoded;
  }

  /** Whether the next record has an earlier time than one before it. */
  get isLate(): boolean {
    return this.timeMs < this.latestMs;
  }

  /** Moves to the next record, if it is loaded. Otherwise `fill` comes first. */
  step(): void {
    do this.#next();
    while (this.#skipsLate && this.encoded !== null && this.isLate);
  }

  #next(): void {
    this.encoded = this.#records[++this.#at] ?? null;
    this.#decoded = null;
    if (this.encoded === null) return;
    this.timeMs = this.#by === 'timestamp' ? clampedMs(this.encoded.timestampMs) : changedAtOf(this.record!);
    if (this.timeMs > this.latestMs) this.latestMs = this.timeMs;
  }

  /** Reads more if nothing is loaded. False once everything is read. Throws ArchiveError. */
  async fill(): Promise<boolean> {
    while (this.encoded === null) {
      const { value: records, done } = await this.#blocks.next();
      this.#records = records ?? [];
      this.#at = -1;
      if (done) return false;
      this.step();
    }
    return true;
  }

  async close(): Promise<void> {
    await this.#blocks.return();
  }
}
