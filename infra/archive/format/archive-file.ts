import { type FileHandle, open } from 'node:fs/promises';
import type { EncodedRecord } from '../../../projector/ports/event-log.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { type ArchiveDecoder, archiveDecoder } from './archive-decoder.ts';
import { ArchiveError, type ArchiveFile } from './archive-files.ts';
import {
  type BlockFrame,
  type ContainerHeader,
  parseBlockFrame,
  parseContainerHeader,
  syncBytes,
  unpackBlock,
} from './avro-container.ts';

/** A whole block. `at` is its first byte in the file. */
interface ContainerBlock {
  at: number;
  count: number;
  /** Valid only until the next call: the buffer is reused. */
  data: Buffer;
}

const chunkBytes = 256 * 1024;
/** Enough for the two numbers at the start of a block, however long they are. */
const blockHeadBytes = 20;
/** A larger header is not valid. */
const headerBytesMax = 16 * 1024 * 1024;

/**
 * An open archive file. It is read block by block, and gives each block's records. Throws ArchiveError with file and
 * byte.
 */
export class OpenArchiveFile {
  readonly file: ArchiveFile;
  readonly header: ContainerHeader;
  readonly decoder: ArchiveDecoder;
  /** The byte where the next block begins. */
  pos: number;
  readonly #handle: FileHandle;
  /** Bytes of the file from #chunkAt on. #chunkLength of them have been read. */
  #chunk: Buffer | null = null;
  #chunkAt = 0;
  #chunkLength = 0;

  private constructor(file: ArchiveFile, handle: FileHandle, header: ContainerHeader, decoder: ArchiveDecoder) {
    this.file = file;
    this.header = header;
    this.decoder = decoder;
    this.pos = header.length;
    this.#handle = handle;
  }

  /** Null if the file ends within its header: another process is creating it. */
  static async open(topic: TopicName, file: ArchiveFile): Promise<OpenArchiveFile | null> {
    const handle = await translated(open(file.path, 'r'));
    let opened: OpenArchiveFile | null = null;
    try {
      const header = await readHeader(file.path, handle);
      if (header) opened = new OpenArchiveFile(file, handle, header, decoderOf(topic, file, header));
      return opened;
    } finally {
      if (!opened) await handle.close();
    }
  }

  /** The records of the next block, in the order of their offsets. Null if there is no other whole block. */
  async nextRecords(): Promise<EncodedRecord[] | null> {
    const block = await this.nextBlock();
    if (!block) return null;
    const { at, count, data } = block;
    const records = located(this.file.path, at, () => this.decoder.records(data, count));
    let last = this.file.firstOffset - 1;
    for (const { partition, offset } of records) {
      if (partition !== this.file.partition) {
        throw this.#wrong(at, `partition ${partition} in a file of partition ${this.file.partition}`);
      }
      if (offset <= last) throw this.#wrong(at, `offset ${offset} where more than ${last} is due`);
      last = offset;
    }
    return records;
  }

  /** The next block's bytes. Null if there is no other whole block. */
  async nextBlock(): Promise<ContainerBlock | null> {
    const frame = await this.#nextFrame();
    const bytes = frame && (await this.#load(this.pos, frame.end));
    if (!bytes || bytes.length < frame.end) return null;
    this.#checkSync(bytes.subarray(frame.dataEnd, frame.end));
    const at = this.pos;
    const stored = bytes.subarray(frame.dataStart, frame.dataEnd);
    const data = located(this.file.path, at, () => unpackBlock(this.header.codec, stored));
    this.pos += frame.end;
    return { at, count: frame.count, data };
  }

  /** Skips all whole blocks from `pos` on. Returns the offset of the last record, or null if there is none. */
  async skipToEnd(): Promise<number | null> {
    let lastAt = -1;
    for (let block = await this.#skipBlock(); block; block = await this.#skipBlock()) {
      if (block.count > 0) lastAt = block.at;
    }
    if (lastAt < 0) return null;
    const end = this.pos;
    this.pos = lastAt;
    const { data, count } = (await this.nextBlock())!;
    this.pos = end;
    return located(this.file.path, lastAt, () => this.decoder.lastOffset(data, count));
  }

  /** The number of bytes after the last whole block. */
  async restBytes(): Promise<number> {
    return (await this.#handle.stat()).size - this.pos;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #skipBlock(): Promise<{ at: number; count: number } | null> {
    const frame = await this.#nextFrame();
    const sync = frame && (await this.#load(this.pos + frame.dataEnd, syncBytes));
    if (!sync || sync.length < syncBytes) return null;
    this.#checkSync(sync.subarray(0, syncBytes));
    const at = this.pos;
    this.pos += frame.end;
    return { at, count: frame.count };
  }

  /** The frame of the block at `pos`, in bytes from there. */
  async #nextFrame(): Promise<BlockFrame | null> {
    const head = await this.#load(this.pos, blockHeadBytes);
    return located(this.file.path, this.pos, () => parseBlockFrame(head, 0));
  }

  #checkSync(marker: Buffer): void {
    if (!marker.equals(this.header.sync)) throw this.#wrong(this.pos, 'the sync marker after its block is wrong');
  }

  #wrong(at: number, what: string): ArchiveError {
    return new ArchiveError(describe(this.file.path, at, what));
  }

  /** The file's bytes from `pos` on: at least `length`, unless it ends before. */
  async #load(pos: number, length: number): Promise<Buffer> {
    const start = pos - this.#chunkAt;
    if (this.#chunk && start >= 0 && start + length <= this.#chunkLength) {
      return this.#chunk.subarray(start, this.#chunkLength);
    }
    if (!this.#chunk || this.#chunk.length < length) this.#chunk = Buffer.allocUnsafe(Math.max(length, chunkBytes));
    this.#chunkAt = pos;
    this.#chunkLength = await readFully(this.#handle, this.#chunk, pos);
    return this.#chunk.subarray(0, this.#chunkLength);
  }
}

function decoderOf(topic: TopicName, { path }: ArchiveFile, { schemaText }: ContainerHeader): ArchiveDecoder {
  try {
    return archiveDecoder(topic, schemaText);
  } catch (error) {
    throw new ArchiveError(`Cannot read ${path}: ${(error as Error).message}`, { cause: error });
  }
}

async function readHeader(path: string, handle: FileHandle): Promise<ContainerHeader | null> {
  for (let length = chunkBytes; ; length *= 4) {
    const bytes = Buffer.allocUnsafe(length);
    const read = await readFully(handle, bytes, 0);
    const header = located(path, 0, () => parseContainerHeader(bytes.subarray(0, read)));
    if (header || read < length) return header;
    if (length > headerBytesMax) throw new ArchiveError(describe(path, 0, 'its header has no end'));
  }
}

/** Fills the buffer from the file's byte `pos` on, as far as the file goes. */
async function readFully(handle: FileHandle, buffer: Buffer, pos: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await translated(handle.read(buffer, filled, buffer.length - filled, pos + filled));
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

const describe = (path: string, pos: number, what: string): string => `Cannot read ${path} at byte ${pos}: ${what}`;

function located<T>(path: string, pos: number, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new ArchiveError(describe(path, pos, (error as Error).message), { cause: error });
  }
}

async function translated<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    throw new ArchiveError((error as Error).message, { cause: error });
  }
}
