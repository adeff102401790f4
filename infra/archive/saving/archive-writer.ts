import { rmSync } from 'node:fs';
import { archivedSchemas, archivedTypes } from '../../../schemas/avro/avro-types.ts';
import { defaultTopicPrefix, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { ArchiveError, archiveFilePath, archiveFolder, pathWithin } from '../format/archive-files.ts';
import type { ArchiveManifest, ManifestFile, ManifestPartition } from '../format/archive-manifest.ts';
import { ContainerWriter } from '../format/container-writer.ts';
import { makeFolder } from '../format/make-folder.ts';
import {
  type ArchiveRecord,
  archivedOf,
  hashSchemaOf,
  type KnownPartition,
  PartitionLedger,
} from '../format/partition-ledger.ts';

export interface ArchiveWriterOptions {
  dir: string;
  prefix?: string;
  /** A block is written once its uncompressed records reach this size. */
  blockBytes?: number;
  /** A new file is started once a file reaches this size. */
  fileBytes?: number;
  /** What there is already, and nothing beyond it. Without it the folder is new. */
  known?: (topic: TopicName, partition: number) => KnownPartition | undefined;
}

type ManifestTopics = ArchiveManifest['topics'];

/** Writes a new archive (docs/rules.md#archive), or adds to one. One writer at a time. */
export class ArchiveWriter {
  readonly #options: ArchiveWriterOptions;
  readonly #partitions = new Map<TopicName, PartitionWriter[]>();

  constructor(options: ArchiveWriterOptions) {
    this.#options = options;
  }

  /** Adds a record. It is on disk after the next flush, or once its block is full. Throws ArchiveError. */
  append(topic: TopicName, record: ArchiveRecord): void {
    this.#of(topic, record.partition).append(record);
  }

  /** Creates a partition, if it does not exist, that may stay empty. Its records will not be below `firstOffset`. */
  addPartition(topic: TopicName, partition: number, firstOffset: number): void {
    this.#of(topic, partition).begin(firstOffset);
  }

  /** Notes that a partition was saved up to an offset. Bad records, which are not in it, may come before that. */
  reached(topic: TopicName, partition: number, nextOffset: number): void {
    this.#of(topic, partition).reached(nextOffset);
  }

  /** Makes what was written durable, and returns the manifest's topics. `partitions`: their numbers of partitions. */
  manifestTopics(partitions: Record<TopicName, number>): ManifestTopics {
    const topics: ManifestTopics = {};
    for (const topic of topicNames) {
      const each = Array.from({ length: partitions[topic] }, (_, i) => this.#of(topic, i).summary());
      topics[topic] = { hash_schema: hashSchemaOf(topic), partitions: each };
    }
    return topics;
  }

  /** Writes what was appended, as whole blocks. */
  flush(): void {
    for (const one of this.#all()) one.flush();
  }

  /** Flushes, and makes everything durable. */
  async close(): Promise<void> {
    for (const one of this.#all()) one.close();
  }

  #of(topic: TopicName, partition: number): PartitionWriter {
    const partitions = this.#partitions.get(topic) ?? [];
    this.#partitions.set(topic, partitions);
    partitions[partition] ??= new PartitionWriter(topic, partition, this.#options);
    return partitions[partition];
  }

  #all(): PartitionWriter[] {
    return [...this.#partitions.values()].flatMap((partitions) => Object.values(partitions));
  }
}

const schemaTextOf = (topic: TopicName): string => JSON.stringify(archivedSchemas[topic]);

class PartitionWriter {
  readonly #topic: TopicName;
  readonly #partition: number;
  readonly #folder: string;
  readonly #blockBytes: number;
  readonly #fileBytes: number;
  #file: ContainerWriter | null = null;
  /** Whether the partition has any file. */
  #begun = false;
  readonly #ledger: PartitionLedger;
  /** Manifest entries of the files, by name. The open file's is as it was when last noted. */
  readonly #files: Map<string, ManifestFile>;
  #block: Buffer;
  #blockLength = 0;
  #blockCount = 0;
  #blockFirstOffset = 0;

  constructor(topic: TopicName, partition: number, options: ArchiveWriterOptions) {
    this.#topic = topic;
    this.#partition = partition;
    this.#folder = archiveFolder(options.dir, options.prefix ?? defaultTopicPrefix, topic);
    this.#blockBytes = options.blockBytes ?? 64 * 1024;
    this.#fileBytes = options.fileBytes ?? 32 * 1024 * 1024;
    this.#block = Buffer.allocUnsafe(this.#blockBytes);
    const known = options.known?.(topic, partition);
    this.#ledger = known?.ledger ?? new PartitionLedger(topic);
    this.#files = new Map(known?.files.map((file) => [file.name, file]));
    makeFolder(this.#folder, 'the archive');
    const last = known?.files.at(-1);
    if (last) this.#resume(last);
    this.#begun = this.#files.size > 0;
  }

  /** Notes the position that was saved. It may be beyond the last record. */
  reached(nextOffset: number): void {
    this.#ledger.nextOffset = Math.max(nextOffset, this.#ledger.nextOffset ?? 0);
  }

  /** What the manifest says about the partition. Its files are durable then. */
  summary(): ManifestPartition {
    this.flush();
    this.#file?.sync();
    if (this.#file) this.#note(this.#file);
    const files = [...this.#files.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { partition: this.#partition, ...this.#ledger.summary(), files };
  }

  begin(firstOffset: number): void {
    if (this.#begun) return;
    this.#file = this.#create(firstOffset);
  }

  append(record: ArchiveRecord): void {
    const { offset } = record;
    const { nextOffset } = this.#ledger;
    if (nextOffset !== null && offset < nextOffset)
      throw new ArchiveError(
        `Cannot append ${this.#topic}/${this.#partition}@${offset} to the archive: it goes on to ${nextOffset - 1} already`,
      );
    const archived = archivedOf(record);
    let end = this.#encode(archived, offset);
    if (end < 0 && this.#blockCount > 0) {
      this.flush();
      end = this.#encode(archived, offset);
    }
    if (end < 0) {
      // The record is larger than a block.
      this.#block = Buffer.allocUnsafe(this.#block.length - end);
      end = this.#encode(archived, offset);
    }
    if (this.#blockCount++ === 0) this.#blockFirstOffset = offset;
    this.#ledger.add(record, this.#block.subarray(this.#blockLength, end));
    this.#blockLength = end;
  }

  flush(): void {
    if (this.#blockCount === 0) return;
    this.#file ??= this.#create(this.#blockFirstOffset);
    this.#file.appendBlock(this.#blockCount, this.#block.subarray(0, this.#blockLength));
    this.#blockCount = 0;
    this.#blockLength = 0;
    if (this.#block.length > this.#blockBytes) this.#block = Buffer.allocUnsafe(this.#blockBytes);
    if (this.#file.size >= this.#fileBytes) this.#closeFile();
  }

  close(): void {
    this.flush();
    this.#closeFile();
  }

  #closeFile(): void {
    if (!this.#file) return;
    this.#file.close();
    this.#note(this.#file);
    this.#file = null;
  }

  #note(file: ContainerWriter): void {
    const entry = file.entry();
    this.#files.set(entry.name, entry);
  }

  /** Where the record ends in the block. Negative if it does not fit: the number of missing bytes. */
  #encode(archived: object, offset: number): number {
    try {
      return archivedTypes[this.#topic].encode(archived, this.#block, this.#blockLength);
    } catch {
      // avsc's message would show the value.
      throw new ArchiveError(
        `Cannot append ${this.#topic}/${this.#partition}@${offset} to the archive: a field's value does not fit schemas/events/${this.#topic}.avsc`,
      );
    }
  }

  #create(firstOffset: number): ContainerWriter {
    this.#begun = true;
    const path = archiveFilePath(this.#folder, this.#partition, firstOffset);
    return ContainerWriter.create(path, schemaTextOf(this.#topic), 'deflate');
  }

  /** Writes on in the last file if its format is ours. Otherwise a new file begins. */
  #resume(last: ManifestFile): void {
    const file = ContainerWriter.resume(pathWithin(this.#folder, last.name), last.records);
    const isOurs = file.header.schemaText === schemaTextOf(this.#topic);
    if (isOurs && last.bytes < this.#fileBytes) {
      this.#file = file;
      return;
    }
    file.close();
    // An empty partition of another format: the file that takes its place has the same name.
    if (isOurs || last.records > 0) return;
    rmSync(file.path);
    this.#files.delete(last.name);
  }
}
