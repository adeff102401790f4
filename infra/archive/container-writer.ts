import { randomBytes } from 'node:crypto';
import { closeSync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import avro from 'avsc';
import { type ContainerCodec, type ContainerHeader, containerMagic, syncBytes } from './avro-container.ts';

const metadataType = avro.Type.forSchema({ type: 'map', values: 'bytes' });
const longType = avro.Type.forSchema('long');

/**
 * Appends whole blocks to a container file. A block is one write, so that a reader of the growing file, or after a crash,
 * finds at most one that is cut off, at the end.
 */
export class ContainerWriter {
  readonly path: string;
  readonly #fd: number;
  readonly #codec: ContainerCodec;
  readonly #sync: Buffer;
  /** The file's length. */
  #size: number;

  private constructor(path: string, fd: number, size: number, codec: ContainerCodec, sync: Buffer) {
    this.path = path;
    this.#fd = fd;
    this.#size = size;
    this.#codec = codec;
    this.#sync = sync;
  }

  /** Makes a new file; throws where there is one. */
  static create(path: string, schemaText: string, codec: ContainerCodec): ContainerWriter {
    const sync = randomBytes(syncBytes);
    const metadata = { 'avro.schema': Buffer.from(schemaText), 'avro.codec': Buffer.from(codec) };
    const writer = new ContainerWriter(path, openSync(path, 'ax'), 0, codec, sync);
    writer.#write(Buffer.concat([containerMagic, metadataType.toBuffer(metadata), sync]));
    syncFolder(dirname(path));
    return writer;
  }

  /** Goes on with a file whose whole blocks end at byte `size`: what lies behind is cut off. */
  static resume(path: string, header: ContainerHeader, size: number): ContainerWriter {
    const fd = openSync(path, 'a');
    ftruncateSync(fd, size);
    return new ContainerWriter(path, fd, size, header.codec, header.sync);
  }

  get size(): number {
    return this.#size;
  }

  appendBlock(count: number, data: Buffer): void {
    const stored = this.#codec === 'deflate' ? deflateRawSync(data) : data;
    this.#write(Buffer.concat([longType.toBuffer(count), longType.toBuffer(stored.length), stored, this.#sync]));
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
    } catch (error) {
      // A full disk: what went through of the block must not stand before the next.
      ftruncateSync(this.#fd, this.#size);
      throw writeFault(this.path, error);
    }
  }
}

/** The system names no file where a write fails. */
function writeFault(path: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  const full = code === 'ENOSPC' || code === 'EDQUOT' ? '; make room on its disk, and call the command again' : '';
  return Object.assign(new Error(`Cannot write ${path}: ${message}${full}`, { cause: error }), { code });
}

/** Makes a file's name durable. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
