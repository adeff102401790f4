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

/** Appends whole blocks, each in one write: after a crash at most one is incomplete, at the end. */
export class ContainerWriter {
  readonly path: string;
  readonly #fd: number;
  readonly header: Omit<ContainerHeader, 'length'>;
  /** The file's length, records and hash. */
  #size = 0;
  #records = 0;
  readonly #hash = createHash('sha256');

  private constructor(path: string, fd: number, header: Omit<ContainerHeader, 'length'>) {
    this.path = path;
    this.#fd = fd;
    this.header = header;
  }

  /** Creates a new file. Throws if it exists. */
  static create(path: string, schemaText: string, codec: ContainerCodec): ContainerWriter {
    const sync = randomBytes(syncBytes);
    const metadata = { 'avro.schema': Buffer.from(schemaText), 'avro.codec': Buffer.from(codec) };
    const writer = new ContainerWriter(path, openSync(path, 'ax'), { schemaText, codec, sync });
    writer.#write(Buffer.concat([containerMagic, metadataType.toBuffer(metadata), sync]));
    syncFolder(dirname(path));
    return writer;
  }

  /** Appends to a file of whole blocks, which have so many records. */
  static resume(path: string, records: number): ContainerWriter {
    const whole = readFileSync(path);
    const writer = new ContainerWriter(path, openSync(path, 'a'), parseContainerHeader(whole)!);
    writer.#size = whole.length;
    writer.#records = records;
    writer.#hash.update(whole);
    return writer;
  }

  get size(): number {
    return this.#size;
  }

  /** The manifest's entry of the file as it is now. */
  entry(): ManifestFile {
    const sha256 = this.#hash.copy().digest('hex');
    return { name: basename(this.path), records: this.#records, bytes: this.#size, sha256 };
  }

  appendBlock(count: number, data: Buffer): void {
    const stored = this.header.codec === 'deflate' ? deflateRawSync(data, { level: deflateLevel }) : data;
    this.#write(Buffer.concat([longType.toBuffer(count), longType.toBuffer(stored.length), stored, this.header.sync]));
    this.#records += count;
  }

  /** Returns once what was appended is durable. */
  sync(): void {
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
