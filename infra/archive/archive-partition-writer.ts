import { readdirSync, rmSync } from 'node:fs';
import type { Type } from 'avsc';
import type { RecordHeader } from '../../projector/ports/event-log.ts';
import { archivedSchemas, archivedTypes } from '../../schemas/avro/avro-types.ts';
import { type AnyRecord, defaultTopicPrefix, type TopicName } from '../../schemas/events/records.ts';
import { archiveDecoder } from './archive-decoder.ts';
import { ArchiveError, type ArchiveFile, archiveFilePath, archiveFolder, filesByPartition } from './archive-files.ts';
import type { ContainerCodec } from './avro-container.ts';
import { type ContainerContent, readContainer } from './container-content.ts';
import { ContainerWriter } from './container-writer.ts';
import { makeFolder } from './make-folder.ts';

export interface ArchiveWriterOptions {
  dir: string;
  prefix?: string;
  codec?: ContainerCodec;
  /** A block is written once its records take so many bytes, uncompressed. */
  blockBytes?: number;
  /** A new file is begun once one has so many bytes. */
  fileBytes?: number;
}

export interface ArchiveRecord {
  partition: number;
  /** Higher than any before in its partition; numbers may be left out. */
  offset: number;
  /** Milliseconds since the epoch. */
  timestampMs: number;
  key: string;
  value: AnyRecord | null;
  headers?: readonly RecordHeader[];
  /** The value as it came, where `value` does not hold all of it. */
  rawValue?: Buffer | null;
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
  /** Whether the partition has a file at all. */
  #begun = false;
  #nextOffset: number | null = null;
  /** A file without records that is not like ours: it makes way for one of its name. */
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
    makeFolder(this.#folder, 'the archive');
    this.#goOn(filesByPartition(this.#folder, readdirSync(this.#folder))[partition] ?? []);
  }

  get nextOffset(): number | null {
    return this.#nextOffset;
  }

  begin(firstOffset: number): void {
    if (this.#begun) return;
    this.#file = this.#create(firstOffset);
  }

  append(record: ArchiveRecord): void {
    const { offset } = record;
    if (this.#nextOffset !== null && offset < this.#nextOffset) {
      throw new ArchiveError(
        `Cannot append ${this.#topic}/${this.#partition}@${offset} to the archive: it goes on to ${this.#nextOffset - 1} already`,
      );
    }
    const archived = archivedOf(record);
    let end = this.#encode(archived, offset);
    if (end < 0 && this.#blockCount > 0) {
      this.flush();
      end = this.#encode(archived, offset);
    }
    if (end < 0) {
      // Larger than a block.
      this.#block = Buffer.allocUnsafe(this.#block.length - end);
      end = this.#encode(archived, offset);
    }
    if (this.#blockCount++ === 0) this.#blockFirstOffset = offset;
    this.#blockLength = end;
    this.#nextOffset = offset + 1;
  }

  flush(): void {
    if (this.#blockCount === 0) return;
    this.#file ??= this.#create(this.#blockFirstOffset);
    this.#file.appendBlock(this.#blockCount, this.#block.subarray(0, this.#blockLength));
    this.#blockCount = 0;
    this.#blockLength = 0;
    if (this.#block.length > this.#blockBytes) this.#block = Buffer.allocUnsafe(this.#blockBytes);
    if (this.#file.size < this.#fileBytes) return;
    this.#file.close();
    this.#file = null;
  }

  close(): void {
    this.flush();
    this.#file?.close();
    this.#file = null;
  }

  /** Where the record ends in the block; less than 0, by the bytes that are missing, where it doesn't fit in. */
  #encode(archived: object, offset: number): number {
    try {
      return this.#type.encode(archived, this.#block, this.#blockLength);
    } catch {
      // avsc's message shows the value.
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

  /** Takes up a partition that has files: the last one is written on where it is like ours, else a new one follows. */
  #goOn(files: ArchiveFile[]): void {
    for (const { path } of files.toReversed()) {
      const content = readContainer(path);
      if (!content) {
        // A crash came between making the file and writing its header.
        rmSync(path);
        continue;
      }
      if (!this.#begun) this.#takeUp(path, content);
      this.#begun = true;
      const last = content.blocks.findLast(({ count }) => count > 0);
      if (!last) continue;
      this.#nextOffset = lastOffset(this.#topic, path, content, last) + 1;
      return;
    }
  }

  #takeUp(path: string, { header, end, restBytes, blocks }: ContainerContent): void {
    const isOurs = header.schemaText === this.#schemaText && header.codec === this.#codec && end < this.#fileBytes;
    if (!isOurs && blocks.length === 0) this.#emptyPath = path;
    if (!isOurs && restBytes === 0) return;
    const writer = ContainerWriter.resume(path, header, end);
    if (isOurs) this.#file = writer;
    else writer.close();
  }
}

const none: readonly RecordHeader[] = [];

function archivedOf(record: ArchiveRecord): object {
  const { partition, offset, timestampMs: timestamp, key, value, headers = none, rawValue: raw = null } = record;
  return { partition, offset, timestamp, key, value, headers, raw };
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
