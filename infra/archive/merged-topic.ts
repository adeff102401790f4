import type { Bounds, EncodedRecord } from '../../projector/ports/event-log.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { ArchiveError, archiveFolder, listTopicFiles } from './archive-files.ts';
import { ArchivePartitionReader } from './archive-partition.ts';

/** Records of one partition, read and not yet taken. */
interface Head {
  partition: number;
  reader: ArchivePartitionReader;
  end: number;
  records: EncodedRecord[];
  at: number;
}

export interface MergedTopicOptions {
  dir: string;
  prefix: string;
  topic: TopicName;
  /** For each partition: records at `end` or after it are left out. */
  bounds: readonly Bounds[];
  warn?: (message: string) => void;
}

/**
 * The records of all of a topic's partitions, in one sequence. Records of one partition keep their order. Among
 * partitions, the record with the earliest timestamp comes first, and if these are equal that of the lower partition.
 * So the same archive always gives the same sequence, and an archive that has grown begins with the same one.
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

  /** Reads more if a partition has nothing left to take. False once everything is taken. */
  async fill(): Promise<boolean> {
    for (const head of this.#heads) if (head.at >= head.records.length) await this.#readOn(head);
    this.#heads = this.#heads.filter((head) => head.at < head.records.length);
    return this.#heads.length > 0;
  }

  /** The next record. Null if `fill` must read first. */
  take(): EncodedRecord | null {
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
    head.records = batch.records.filter(({ offset }) => offset < head.end);
  }
}
