import { readdirSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import type { Type } from 'avsc';
import { archivedSchemas, archivedTypes } from '../../schemas/avro/avro-types.ts';
import { defaultTopicPrefix, type TopicName } from '../../schemas/events/records.ts';
import { archiveDecoder } from './archive-decoder.ts';
import { ArchiveError, type ArchiveFile, archiveFilePath, archiveFolder, filesByPartition } from './archive-files.ts';
import type { ManifestFile, ManifestPartition } from './archive-manifest.ts';
import { type ArchiveRecord, archivedOf } from './archived-bytes.ts';
import type { ContainerCodec } from './avro-container.ts';
import { type ContainerContent, readContainer } from './container-content.ts';
import { ContainerWriter } from './container-writer.ts';
import { makeFolder } from './make-folder.ts';
import type { KnownPartition } from './partition-inspection.ts';
import { PartitionLedger } from './partition-ledger.ts';

export interface ArchiveWriterOptions {
  dir: string;
  prefix?: string;
  codec?: ContainerCodec;
  /** A block is written once its uncompressed records reach this size. */
  blockBytes?: number;
  /** A new file is started once a file reaches this size. */
  fileBytes?: number;
  /** What there is already, as an inspection found it. Without it the files' ends are read, and there is no summary. */
  known?: (topic: TopicName, partition: number) => KnownPartition | undefined;
}

/** Writes one partition of an archive. */
export class ArchivePartitionWriter {
  readonly #topic: TopicName;
  readonly #partition: number;
  readonly #folder: string;
  readonly #codec: ContainerCodec;
  readonly #blockBytes: number;
  readonly #fileBytes: number;
  readonly #type: Type;
  readonly #schemaText: string;
  #file: ContainerWriter | null = null;
  /** Whether the partition has any file. */
  #begun = false;
  readonly #ledger: PartitionLedger;
  /** Manifest entries of the closed files, by name. */
  readonly #files: Map<string, ManifestFile>;
  /** A file without records whose format is not ours. A file of its name replaces it. */
  #emptyPath: string | null = null;
  #block: Buffer;
  #blockLength = 0;
  #blockCount = 0;
  #blockFirstOffset = 0;

  constructor(topic: TopicName, partition: number, options: ArchiveWriterOptions) {
    this.#topic = topic;
    this.#partition = partition;
    this.#folder = archiveFolder(options.dir, options.prefix ?? defaultTopicPrefix, topic);
    this.#codec = options.codec ?? 'deflate';
    this.#blockBytes = options.blockBytes ?? 64 * 1024;
    this.#fileBytes = options.fileBytes ?? 32 * 1024 * 1024;
    this.#type = archivedTypes[topic];
    this.#schemaText = JSON.stringify(archivedSchemas[topic]);
    this.#block = Buffer.allocUnsafe(this.#blockBytes);
    const known = options.known?.(topic, partition);
    this.#ledger = known?.ledger ?? new PartitionLedger(topic);
    this.#files = new Map(known?.files.map((file) => [file.name, file]));
    makeFolder(this.#folder, 'the archive');
    this.#goOn(filesByPartition(this.#folder, readdirSync(this.#folder))[partition] ?? []);
  }

  get nextOffset(): number | null {
    return this.#ledger.nextOffset;
  }

  /** The position that was saved, if it is beyond the last record. */
  reached(nextOffset: number): void {
    this.#ledger.settle();
    this.#ledger.nextOffset = Math.max(nextOffset, this.#ledger.nextOffset ?? 0);
  }

  /** What the manifest says about the partition. Its files are durable then. */
  summary(): ManifestPartition {
    this.flush();
    this.#file?.sync();
    const files = new Map(this.#files);
    if (this.#file) note(files, this.#file);
    const inOrder = [...files.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { partition: this.#partition, ...this.#ledger.summary(), files: inOrder };
  }

  begin(firstOffset: number): void {
    if (this.#begun) return;
    this.#file = this.#create(firstOffset);
  }

  append(record: ArchiveRecord): void {
    const { offset } = record;
    const { nextOffset } = this.#ledger;
    if (nextOffset !== null && offset < nextOffset) {
      throw new ArchiveError(
        `Cannot append ${this.#topic}/${this.#partition}@${offset} to the archive: it goes on to ${nextOffset - 1} already`,
      );
    }
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
    this.#ledger.add(record, record.key, this.#block, this.#blockLength, end);
    this.#blockLength = end;
  }

  flush(): void {
    if (this.#blockCount === 0) return;
    this.#ledger.settle();
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
    note(this.#files, this.#file);
    this.#file = null;
  }

  /** Where the record ends in the block. Negative if it does not fit: the number of missing bytes. */
  #encode(archived: object, offset: number): number {
    try {
      return this.#type.encode(archived, this.#block, this.#blockLength);
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
    if (path === this.#emptyPath) rmSync(path);
    return ContainerWriter.create(path, this.#schemaText, this.#codec);
  }

  /** Continues a partition that has files: writes on in the last file if its format is ours, else starts a new one. */
  #goOn(files: ArchiveFile[]): void {
    for (const { path } of files.toReversed()) {
      const content = readContainer(path);
      if (!content) {
        // A crash between creating the file and writing its header.
        rmSync(path);
        this.#files.delete(basename(path));
        continue;
      }
      if (!this.#begun) this.#takeUp(path, content);
      this.#begun = true;
      const last = content.blocks.findLast(({ count }) => count > 0);
      if (!last) continue;
      this.#ledger.nextOffset = Math.max(
        this.#ledger.nextOffset ?? 0,
        lastOffset(this.#topic, path, content, last) + 1,
      );
      return;
    }
  }

  #takeUp(path: string, content: ContainerContent): void {
    const { header, end, restBytes, blocks } = content;
    const isOurs = header.schemaText === this.#schemaText && header.codec === this.#codec && end < this.#fileBytes;
    if (!isOurs && blocks.length === 0) this.#emptyPath = path;
    if (!isOurs && restBytes === 0) return;
    this.#file = ContainerWriter.resume(path, content);
    if (!isOurs) this.#closeFile();
  }
}

/** Records the manifest's entry of a file. */
function note(files: Map<string, ManifestFile>, file: ContainerWriter): void {
  const name = basename(file.path);
  files.set(name, { name, records: file.records, bytes: file.size, sha256: file.sha256() });
}

function lastOffset(
  topic: TopicName,
  path: string,
  { header }: ContainerContent,
  { data, count }: ContainerContent['blocks'][number],
): number {
  try {
    return archiveDecoder(topic, header.schemaText).lastOffset(data(), count);
  } catch (error) {
    throw new ArchiveError(`Cannot append to ${path}: ${(error as Error).message}`, { cause: error });
  }
}
