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

/** A whole block. `at` is its first byte in the file. */
export interface ContainerBlock {
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

/** Reads a container file block by block, also while it grows. Throws ContainerFormatError, with file and byte. */
export class ContainerFile {
  readonly path: string;
  readonly header: ContainerHeader;
  readonly #handle: FileHandle;
  #pos: number;
  /** Bytes of the file from #chunkAt on. #chunkLength of them have been read. */
  #chunk: Buffer | null = null;
  #chunkAt = 0;
  #chunkLength = 0;

  private constructor(path: string, handle: FileHandle, header: ContainerHeader) {
    this.path = path;
    this.header = header;
    this.#handle = handle;
    this.#pos = header.length;
  }

  /** Null if the file ends within its header, as a file does that is being created. */
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

  /** The next block with its records. Null if there is no whole block yet. */
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

  /** Skips the next block without reading its records. Null if there is no whole block yet. */
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

  /** The number of bytes after the last whole block. */
  async restBytes(): Promise<number> {
    return (await this.#handle.stat()).size - this.#pos;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** The frame of the block at `pos`, in bytes from there. */
  async #nextFrame(): Promise<BlockFrame | null> {
    // At the end of a file that is being followed there is usually nothing to read.
    if (!this.#chunk && (await this.restBytes()) <= 0) return null;
    const head = await this.#load(this.#pos, blockHeadBytes);
    return located(this.path, this.#pos, () => parseBlockFrame(head, 0)) ?? this.#notWhole();
  }

  #notWhole(): null {
    // An incomplete block may be cut off and rewritten, so the next call reads the file again, not these bytes.
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
