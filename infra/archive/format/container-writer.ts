import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fdatasyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import avro from 'avsc';
import type { ManifestFile } from './archive-manifest.ts';
import {
  type ContainerCodec,
  type ContainerHeader,
  containerMagic,
  parseContainerHeader,
  syncBytes,
} from './avro-container.ts';
import { syncFolder, writeFault } from './write-atomically.ts';

const metadataType = avro.Type.forSchema({ type: 'map', values: 'bytes' });
const longType = avro.Type.forSchema('long');

/** Takes half the time of zlib's default, for files that are 6 % larger. */
const deflateLevel = 1;

/** A block is written before its uncompressed records are larger than this, unless one alone is. Readers bound the size. */
const blockBytesMax = 64 * 1024;

/** Appends records in blocks, each in one write: after a crash at most one is incomplete, at the end. */
export class ContainerWriter {
  readonly path: string;
  readonly #fd: number;
  readonly header: Omit<ContainerHeader, 'length'>;
  readonly #blockBytes: number;
  #block: Buffer[] = [];
  #blockLength = 0;
  /** The file's length, records and hash. */
  #size = 0;
  #records = 0;
  readonly #hash = createHash('sha256');

  private constructor(
    path: string,
    header: Omit<ContainerHeader, 'length'>,
    flags: string,
    blockBytes = blockBytesMax,
  ) {
    this.path = path;
    this.#fd = openSync(path, flags);
    this.header = header;
    this.#blockBytes = blockBytes;
  }

  /** Creates a new file. Throws if it exists. */
  static create(path: string, schemaText: string, codec: ContainerCodec, blockBytes?: number): ContainerWriter {
    const sync = randomBytes(syncBytes);
    const metadata = { 'avro.schema': Buffer.from(schemaText), 'avro.codec': Buffer.from(codec) };
    const writer = new ContainerWriter(path, { schemaText, codec, sync }, 'ax', blockBytes);
    writer.#write(Buffer.concat([containerMagic, metadataType.toBuffer(metadata), sync]));
    syncFolder(dirname(path));
    return writer;
  }

  /** Appends to a file of whole blocks, which have so many records. */
  static resume(path: string, records: number, blockBytes?: number): ContainerWriter {
    const whole = readFileSync(path);
    const writer = new ContainerWriter(path, parseContainerHeader(whole)!, 'a', blockBytes);
    writer.#size = whole.length;
    writer.#records = records;
    writer.#hash.update(whole);
    return writer;
  }

  /** The length of what is written. */
  get size(): number {
    return this.#size;
  }

  /** The manifest's entry of what is written. */
  entry(): ManifestFile {
    const sha256 = this.#hash.copy().digest('hex');
    return { name: basename(this.path), records: this.#records, bytes: this.#size, sha256 };
  }

  append(record: Uint8Array): void {
    if (this.#blockLength + record.length > this.#blockBytes) this.flush();
    this.#block.push(Buffer.from(record));
    this.#blockLength += record.length;
  }

  /** Writes what was appended. */
  flush(): void {
    const count = this.#block.length;
    if (count === 0) return;
    const data = Buffer.concat(this.#block);
    const stored = this.header.codec === 'deflate' ? deflateRawSync(data, { level: deflateLevel }) : data;
    this.#write(Buffer.concat([longType.toBuffer(count), longType.toBuffer(stored.length), stored, this.header.sync]));
    this.#records += count;
    this.#block = [];
    this.#blockLength = 0;
  }

  /** Returns once what was appended is durable. */
  sync(): void {
    this.flush();
    try {
      fdatasyncSync(this.#fd);
    } catch (error) {
      throw writeFault(this.path, error);
    }
  }

  close(): void {
    this.sync();
    closeSync(this.#fd);
  }

  #write(bytes: Buffer): void {
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#fd, bytes, written);
      this.#size += bytes.length;
      this.#hash.update(bytes);
    } catch (error) {
      // After a full disk: part of the block must not stay before the next one.
      ftruncateSync(this.#fd, this.#size);
      throw writeFault(this.path, error);
    }
  }
}
