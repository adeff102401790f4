import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { UndecodableError } from '../../../schemas/avro/undecodable.ts';
import { ArchiveError } from './archive-files.ts';

/**
 * Avro Object Container Files (specification 1.12): `Obj1`, a map of metadata, a sync marker; then blocks. A block is a
 * count, a size in bytes, the records and the sync marker again.
 */
export const containerMagic = Buffer.from('Obj\x01', 'latin1');
export const syncBytes = 16;

export type ContainerCodec = 'null' | 'deflate';

export interface ContainerHeader {
  schemaText: string;
  codec: ContainerCodec;
  sync: Buffer;
  /** Where the first block begins. */
  length: number;
}

interface BlockFrame {
  count: number;
  /** The block's stored bytes are from `dataStart` to `dataEnd`. The next block begins at `end`. */
  dataStart: number;
  dataEnd: number;
  end: number;
}

const cursor = new Cursor();
/**
 * Blocks are held in memory as a whole, unpacked: a megabyte of deflate may hold a gigabyte. A record that fills a
 * batch of Kafka (64 MiB) may be in a block twice, as its value and as it came.
 */
const blockBytesMax = 129 << 20;
/** Many tools write some 10,000 records to a block. */
const blockRecordsMax = 1_000_000;

/** The header at the start of `bytes`. Null if they end within it. Throws if they are no container file. */
export function parseContainerHeader(bytes: Buffer): ContainerHeader | null {
  const magic = bytes.subarray(0, containerMagic.length);
  if (!magic.equals(containerMagic.subarray(0, magic.length)))
    throw new Error('it does not begin as an Avro Object Container File (Obj1)');
  try {
    cursor.set(bytes, containerMagic.length);
    const metadata = new Map<string, Buffer>();
    for (let n = cursor.blockCount(true); n !== 0; n = cursor.blockCount(true)) {
      while (n-- > 0) metadata.set(cursor.string(), cursor.bytes());
    }
    const sync = cursor.fixed(syncBytes);
    return { ...checkMetadata(metadata), sync, length: cursor.pos };
  } catch (error) {
    if (error instanceof UndecodableError) return null;
    throw error;
  }
}

function checkMetadata(metadata: Map<string, Buffer>): { schemaText: string; codec: ContainerCodec } {
  const schemaText = metadata.get('avro.schema')?.toString('utf8');
  if (schemaText === undefined) throw new Error('its header has no avro.schema');
  const codec = metadata.get('avro.codec')?.toString('utf8') ?? 'null';
  if (codec !== 'null' && codec !== 'deflate')
    throw new Error(`its codec is ${JSON.stringify(codec)}: write it again with null or deflate`);
  return { schemaText, codec };
}

/** The frame of the block at `pos`. Null if `bytes` end within its head; they may end before its `end`. */
function parseBlockFrame(bytes: Buffer, pos: number): BlockFrame | null {
  let count: number;
  let size: number;
  try {
    cursor.set(bytes, pos);
    count = cursor.long();
    size = cursor.long();
  } catch (error) {
    // Two numbers of at most ten bytes each. If twenty bytes are there, the numbers are not cut off but wrong.
    if (error instanceof UndecodableError && bytes.length - pos < 20) return null;
    throw new Error('no block begins there');
  }
  if (count < 0 || size < 0 || size >= 2 ** 31) throw new Error('no block begins there');
  if (size > blockBytesMax) throw tooLarge();
  if (count > blockRecordsMax)
    throw new Error(`its block has over ${blockRecordsMax} records: write it again with smaller blocks`);
  const dataEnd = cursor.pos + size;
  return { count, dataStart: cursor.pos, dataEnd, end: dataEnd + syncBytes };
}

/** A block's records, as bytes. For an uncompressed block a view of `stored`. */
function unpackBlock(codec: ContainerCodec, stored: Buffer): Buffer {
  if (codec === 'null') return stored;
  try {
    return inflateRawSync(stored, { maxOutputLength: blockBytesMax });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw new Error('its block can not be inflated', { cause: error });
  }
}

const tooLarge = () =>
  new Error(`its block is larger than ${blockBytesMax >> 20} MiB: write it again with smaller blocks`);

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

export interface OpenedContainer {
  path: string;
  fd: number;
  header: ContainerHeader;
}

/** Null if the file ends within its header: another process is creating it. Throws ArchiveError with file and byte. */
export function openContainer(path: string): OpenedContainer | null {
  const fd = translated(() => openSync(path, 'r'));
  let header: ContainerHeader | null = null;
  try {
    header = readHeader(path, fd);
    return header && { path, fd, header };
  } finally {
    if (!header) closeSync(fd);
  }
}

/** An open container file, which is read block by block. Throws ArchiveError with file and byte. */
export class ContainerFile {
  readonly path: string;
  readonly header: ContainerHeader;
  /** The byte where the next block begins. */
  pos: number;
  readonly #fd: number;
  /** Bytes of the file from #chunkAt on. #chunkLength of them have been read. */
  #chunk: Buffer | null = null;
  #chunkAt = 0;
  #chunkLength = 0;

  constructor({ path, fd, header }: OpenedContainer) {
    this.path = path;
    this.header = header;
    this.pos = header.length;
    this.#fd = fd;
  }

  /** All whole blocks from `pos` on. */
  *blocks(): Generator<ContainerBlock> {
    for (let block = this.nextBlock(); block; block = this.nextBlock()) yield block;
  }

  /** The next block's bytes. Null if there is no other whole block. */
  nextBlock(): ContainerBlock | null {
    const frame = this.#nextFrame();
    const bytes = frame && this.#load(this.pos, frame.end);
    if (!bytes || bytes.length < frame.end) return null;
    this.#checkSync(bytes.subarray(frame.dataEnd, frame.end));
    const at = this.pos;
    const stored = bytes.subarray(frame.dataStart, frame.dataEnd);
    const data = this.located(at, () => unpackBlock(this.header.codec, stored));
    this.pos += frame.end;
    return { at, count: frame.count, data };
  }

  /** Moves behind the next block. Null if there is no other whole block. */
  skipBlock(): Pick<ContainerBlock, 'at' | 'count'> | null {
    const frame = this.#nextFrame();
    const sync = frame && this.#load(this.pos + frame.dataEnd, syncBytes);
    if (!sync || sync.length < syncBytes) return null;
    this.#checkSync(sync.subarray(0, syncBytes));
    const at = this.pos;
    this.pos += frame.end;
    return { at, count: frame.count };
  }

  /** The number of bytes after the last whole block. */
  restBytes(): number {
    return fstatSync(this.#fd).size - this.pos;
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** The frame of the block at `pos`, in bytes from there. */
  #nextFrame(): BlockFrame | null {
    const head = this.#load(this.pos, blockHeadBytes);
    return this.located(this.pos, () => parseBlockFrame(head, 0));
  }

  #checkSync(marker: Buffer): void {
    if (!marker.equals(this.header.sync)) throw this.wrong(this.pos, 'the sync marker after its block is wrong');
  }

  wrong(at: number, what: string): ArchiveError {
    return new ArchiveError(describe(this.path, at, what));
  }

  /** Runs what parses bytes from `at` on. */
  located<T>(at: number, parse: () => T): T {
    return located(this.path, at, parse);
  }

  /** The file's bytes from `pos` on: at least `length`, unless it ends before. */
  #load(pos: number, length: number): Buffer {
    const start = pos - this.#chunkAt;
    if (this.#chunk && start >= 0 && start + length <= this.#chunkLength)
      return this.#chunk.subarray(start, this.#chunkLength);
    if (!this.#chunk || this.#chunk.length < length) this.#chunk = Buffer.allocUnsafe(Math.max(length, chunkBytes));
    this.#chunkAt = pos;
    this.#chunkLength = readFully(this.#fd, this.#chunk, pos);
    return this.#chunk.subarray(0, this.#chunkLength);
  }
}

function readHeader(path: string, fd: number): ContainerHeader | null {
  for (let length = chunkBytes; ; length *= 4) {
    const bytes = Buffer.allocUnsafe(length);
    const read = readFully(fd, bytes, 0);
    const header = located(path, 0, () => parseContainerHeader(bytes.subarray(0, read)));
    if (header || read < length) return header;
    if (length > headerBytesMax) throw new ArchiveError(describe(path, 0, 'its header has no end'));
  }
}

/** Fills the buffer from the file's byte `pos` on, as far as the file goes. */
function readFully(fd: number, buffer: Buffer, pos: number): number {
  let filled = 0;
  for (let read = -1; read !== 0 && filled < buffer.length; filled += read) {
    read = translated(() => readSync(fd, buffer, filled, buffer.length - filled, pos + filled));
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

function translated<T>(request: () => T): T {
  try {
    return request();
  } catch (error) {
    throw new ArchiveError((error as Error).message, { cause: error });
  }
}
