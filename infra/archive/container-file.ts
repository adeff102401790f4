import { type FileHandle, open } from 'node:fs/promises';
import {
  type BlockFrame,
  ContainerFormatError,
  type ContainerHeader,
  parseBlockFrame,
  parseContainerHeader,
  syncBytes,
  unpackBlock,
} from './avro-container.ts';

/** A whole block. `at` is the byte of the file where it begins. */
export interface ContainerBlock {
  at: number;
  count: number;
  /** Good only until the next call: the buffer is used again. */
  data: Buffer;
}

const chunkBytes = 256 * 1024;
/** Holds the two numbers that begin a block, however long they are. */
const blockHeadBytes = 20;
/** A header that takes more is none. */
const headerBytesMax = 16 * 1024 * 1024;

/** Reads a container file block by block, also while it grows. Throws ContainerFormatError, with file and byte. */
export class ContainerFile {
  readonly path: string;
  readonly header: ContainerHeader;
  readonly #handle: FileHandle;
  #pos: number;
  /** Bytes of the file from #chunkAt on, of which #chunkLength are read. */
  #chunk: Buffer | null = null;
  #chunkAt = 0;
  #chunkLength = 0;

  private constructor(path: string, handle: FileHandle, header: ContainerHeader) {
    this.path = path;
    this.header = header;
    this.#handle = handle;
    this.#pos = header.length;
  }

  /** null where the file ends within its header, as one does that is just being made. */
  static async open(path: string): Promise<ContainerFile | null> {
    const handle = await open(path, 'r');
    try {
      const header = await readHeader(path, handle);
      if (header) return new ContainerFile(path, handle, header);
      await handle.close();
      return null;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The byte where the next block begins. */
  get pos(): number {
    return this.#pos;
  }

  set pos(pos: number) {
    this.#pos = pos;
  }

  /** The next block with its records; null where no whole one is there yet. */
  async nextBlock(): Promise<ContainerBlock | null> {
    const frame = await this.#nextFrame();
    if (!frame) return null;
    const bytes = await this.#load(this.#pos, frame.end);
    if (bytes.length < frame.end) return this.#notWhole();
    this.#checkSync(bytes.subarray(frame.dataEnd, frame.end));
    const at = this.#pos;
    const stored = bytes.subarray(frame.dataStart, frame.dataEnd);
    const data = located(this.path, at, () => unpackBlock(this.header.codec, stored));
    this.#pos += frame.end;
    return { at, count: frame.count, data };
  }

  /** Steps over the next block without reading its records; null where no whole one is there yet. */
  async skipBlock(): Promise<{ at: number; count: number } | null> {
    const frame = await this.#nextFrame();
    if (!frame) return null;
    const sync = await this.#load(this.#pos + frame.dataEnd, syncBytes);
    if (sync.length < syncBytes) return this.#notWhole();
    this.#checkSync(sync.subarray(0, syncBytes));
    const at = this.#pos;
    this.#pos += frame.end;
    return { at, count: frame.count };
  }

  /** How many bytes lie after the last whole block. */
  async restBytes(): Promise<number> {
    return (await this.#handle.stat()).size - this.#pos;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** The frame of the block at `pos`, in bytes from there. */
  async #nextFrame(): Promise<BlockFrame | null> {
    // At the end of a file that is being followed there is mostly nothing to read.
    if (!this.#chunk && (await this.restBytes()) <= 0) return null;
    const head = await this.#load(this.#pos, blockHeadBytes);
    return located(this.path, this.#pos, () => parseBlockFrame(head, 0)) ?? this.#notWhole();
  }

  #notWhole(): null {
    // What is there of a block may be cut off and written anew: the next look is at the file, not at these bytes.
    this.#chunk = null;
    this.#chunkLength = 0;
    return null;
  }

  #checkSync(marker: Buffer): void {
    if (!marker.equals(this.header.sync)) {
      throw new ContainerFormatError(describe(this.path, this.#pos, 'the sync marker after its block is wrong'));
    }
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

async function readHeader(path: string, handle: FileHandle): Promise<ContainerHeader | null> {
  for (let length = chunkBytes; ; length *= 4) {
    const bytes = Buffer.allocUnsafe(length);
    const read = await readFully(handle, bytes, 0);
    const header = located(path, 0, () => parseContainerHeader(bytes.subarray(0, read)));
    if (header || read < length) return header;
    if (length > headerBytesMax) throw new ContainerFormatError(describe(path, 0, 'its header has no end'));
  }
}

/** Fills the buffer from the file's byte `pos` on, as far as the file goes. */
async function readFully(handle: FileHandle, buffer: Buffer, pos: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, pos + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

function describe(path: string, pos: number, what: string): string {
  return `Cannot read ${path} at byte ${pos}: ${what}`;
}

function located<T>(path: string, pos: number, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ContainerFormatError)) throw error;
    throw new ContainerFormatError(describe(path, pos, error.message), { cause: error });
  }
}
