import { rmSync } from 'node:fs';
import { archivedSchemas } from '../../../schemas/avro/avro-types.ts';
import { byTopic, defaultTopicPrefix, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { ArchiveError, archiveFilePath, archiveFolder, pathWithin } from '../format/archive-files.ts';
import type { ArchiveManifest, ManifestFile, ManifestPartition } from '../format/archive-manifest.ts';
import { ContainerWriter } from '../format/container-writer.ts';
import { makeFolder } from '../format/make-folder.ts';
import {
  type ArchiveRecord,
  encodeArchived,
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
  known?: Record<TopicName, KnownPartition[]>;
}

/** Writes a new archive (docs/rules.md#archive), or adds to one. One writer at a time. */
export class ArchiveWriter {
  readonly #options: ArchiveWriterOptions;
  readonly #known: Record<TopicName, KnownPartition[]>;
  readonly #partitions = new Map<TopicName, PartitionWriter[]>();

  constructor(options: ArchiveWriterOptions) {
    this.#options = options;
    this.#known = options.known ?? byTopic(() => []);
  }

  /** What a partition contains so far. */
  ledger(topic: TopicName, partition: number): PartitionLedger {
    return this.#knownOf(topic, partition).ledger;
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
  manifestTopics(partitions: Record<TopicName, number>): ArchiveManifest['topics'] {
    const topics: ArchiveManifest['topics'] = {};
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
    partitions[partition] ??= new PartitionWriter(topic, partition, this.#knownOf(topic, partition), this.#options);
    return partitions[partition];
  }

  /** A partition that is not known yet begins empty. */
  #knownOf(topic: TopicName, partition: number): KnownPartition {
    this.#known[topic][partition] ??= { ledger: new PartitionLedger(topic), files: [] };
    return this.#known[topic][partition];
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
  readonly #options: ArchiveWriterOptions;
  readonly #fileBytes: number;
  #file: ContainerWriter | null = null;
  readonly #ledger: PartitionLedger;
  /** Manifest entries of the files, by name. The open file's is as it was when last noted. */
  readonly #files: Map<string, ManifestFile>;

  constructor(topic: TopicName, partition: number, known: KnownPartition, options: ArchiveWriterOptions) {
    this.#topic = topic;
    this.#partition = partition;
    this.#folder = archiveFolder(options.dir, options.prefix ?? defaultTopicPrefix, topic);
    this.#options = options;
    this.#fileBytes = options.fileBytes ?? 32 * 1024 * 1024;
    this.#ledger = known.ledger;
    this.#files = new Map(known.files.map((file) => [file.name, file]));
    makeFolder(this.#folder, 'the archive');
    const last = known.files.at(-1);
    if (last) this.#resume(last);
  }

  /** Notes the position that was saved. It may be beyond the last record. */
  reached(nextOffset: number): void {
    this.#ledger.nextOffset = Math.max(nextOffset, this.#ledger.nextOffset ?? 0);
  }

  /** What the manifest says about the partition. Its files are durable then. */
  summary(): ManifestPartition {
    this.#file?.sync();
    if (this.#file) this.#note(this.#file);
    const files = [...this.#files.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { partition: this.#partition, ...this.#ledger.summary(), files };
  }

  begin(firstOffset: number): void {
    if (this.#files.size === 0) this.#file = this.#create(firstOffset);
  }

  append(record: ArchiveRecord): void {
    const { offset } = record;
    const { nextOffset } = this.#ledger;
    if (nextOffset !== null && offset < nextOffset)
      throw new ArchiveError(
        `Cannot append ${this.#topic}/${this.#partition}@${offset} to the archive: it goes on to ${nextOffset - 1} already`,
      );
    const bytes = this.#encode(record);
    // A file with its header alone stays: the next one would have the same name.
    if (this.#file && this.#file.size >= this.#fileBytes && this.#file.entry().records > 0) this.close();
    this.#file ??= this.#create(offset);
    this.#file.append(bytes);
    this.#ledger.add(record, bytes);
  }

  flush(): void {
    this.#file?.flush();
  }

  close(): void {
    if (!this.#file) return;
    this.#file.close();
    this.#note(this.#file);
    this.#file = null;
  }

  #note(file: ContainerWriter): void {
    const entry = file.entry();
    this.#files.set(entry.name, entry);
  }

  #encode(record: ArchiveRecord): Buffer {
    try {
      return encodeArchived(this.#topic, record);
    } catch {
      // avsc's message would show the value.
      throw new ArchiveError(
        `Cannot append ${this.#topic}/${this.#partition}@${record.offset} to the archive: a field's value does not fit schemas/events/${this.#topic}.avsc`,
      );
    }
  }

  #create(firstOffset: number): ContainerWriter {
    const path = archiveFilePath(this.#folder, this.#partition, firstOffset);
    const file = ContainerWriter.create(path, schemaTextOf(this.#topic), 'deflate', this.#options.blockBytes);
    this.#note(file);
    return file;
  }

  /** Writes on in the last file if its format is ours. Otherwise a new file begins. */
  #resume(last: ManifestFile): void {
    const file = ContainerWriter.resume(pathWithin(this.#folder, last.name), last.records, this.#options.blockBytes);
    if (file.header.schemaText === schemaTextOf(this.#topic)) {
      this.#file = file;
      return;
    }
    file.close();
    // An empty partition of another format: the file that takes its place has the same name.
    if (last.records > 0) return;
    rmSync(file.path);
    this.#files.delete(last.name);
  }
}
