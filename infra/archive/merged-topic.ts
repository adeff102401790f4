import type { Bounds, LogRecord, UndecodableRecord } from '../../projector/ports/event-log.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { ArchiveError, archiveFolder, listTopicFiles } from './archive-files.ts';
import { ArchivePartitionReader } from './archive-partition.ts';

type ArchivedRecord = LogRecord | UndecodableRecord;

/** Records of one partition, read and not yet taken. */
interface Head {
  partition: number;
  reader: ArchivePartitionReader;
  end: number;
  records: ArchivedRecord[];
  at: number;
}

export interface MergedTopicOptions {
  dir: string;
  prefix: string;
  topic: TopicName;
  /** Of each partition: what comes at `end` or behind it is left out. */
  bounds: readonly Bounds[];
  warn?: (message: string) => void;
}

/**
 * A topic's records of all partitions, one after the other: those of a partition in their order, and of several
 * partitions the one with the earliest timestamp first, of the lower number where they are equal. So the same archive
 * gives the same order every time, and one that has grown begins as it did before.
 */
export class MergedTopic {
  readonly #topic: TopicName;
  #heads: Head[];

  private constructor(topic: TopicName, heads: Head[]) {
    this.#topic = topic;
    this.#heads = heads;
  }

  static async open({ dir, prefix, topic, bounds, warn = () => {} }: MergedTopicOptions): Promise<MergedTopic> {
    const files = (await listTopicFiles(archiveFolder(dir, prefix, topic))) ?? [];
    const heads = bounds.map(({ low, end }, partition): Head => {
      const reader = new ArchivePartitionReader({ topic, partition, from: low, warnAfterMs: 5_000, warn });
      reader.files = files[partition] ?? [];
      return { partition, reader, end: low < end ? end : low, records: [], at: 0 };
    });
    return new MergedTopic(
      topic,
      heads.filter(({ partition }) => bounds[partition]!.low < bounds[partition]!.end),
    );
  }

  /** Reads on where a partition has nothing left to take. False once all is taken. */
  async fill(): Promise<boolean> {
    for (const head of this.#heads) if (head.at >= head.records.length) await this.#readOn(head);
    this.#heads = this.#heads.filter((head) => head.at < head.records.length);
    return this.#heads.length > 0;
  }

  /** The next record; null where `fill` has to read on first. */
  take(): ArchivedRecord | null {
    let first: Head | null = null;
    for (const head of this.#heads) {
      if (head.at >= head.records.length) return null;
      if (!first || head.records[head.at]!.timestampMs < first.records[first.at]!.timestampMs) first = head;
    }
    return first ? first.records[first.at++]! : null;
  }

  async close(): Promise<void> {
    for (const { reader } of this.#heads) await reader.close();
  }

  async #readOn(head: Head): Promise<void> {
    const last = head.records.at(-1);
    head.records = [];
    head.at = 0;
    if (last && last.offset >= head.end - 1) return head.reader.close();
    const batch = await head.reader.next();
    if (!batch) {
      throw new ArchiveError(
        `Cannot read ${this.#topic}/${head.partition} of the archive on to offset ${head.end - 1}: its files have changed meanwhile; call the command again`,
      );
    }
    head.records = (batch.records as ArchivedRecord[]).filter(({ offset }) => offset < head.end);
  }
}
