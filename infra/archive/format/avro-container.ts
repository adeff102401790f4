import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { Cursor } from '../../../schemas/avro/avro-cursor.ts';
import { UndecodableError } from '../../../schemas/avro/undecodable.ts';

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

export interface BlockFrame {
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
  if (!magic.equals(containerMagic.subarray(0, magic.length))) {
    throw new Error('it does not begin as an Avro Object Container File (Obj1)');
  }
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
  if (codec !== 'null' && codec !== 'deflate') {
    throw new Error(`its codec is ${JSON.stringify(codec)}: write it again with null or deflate`);
  }
  return { schemaText, codec };
}

/**
 * The frame of the block that begins at `pos`, without looking beyond `bytes`. Null if they end within its head. The
 * caller checks whether `bytes` reach `end`.
 */
export function parseBlockFrame(bytes: Buffer, pos: number): BlockFrame | null {
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
export function unpackBlock(codec: ContainerCodec, stored: Buffer): Buffer {
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

/** A container file's blocks, read at once. For files of bad records. */
export interface ContainerContent {
  header: ContainerHeader;
  /** Where the whole blocks end. */
  end: number;
  /** Bytes of an incomplete block after them. */
  restBytes: number;
  /** A hash of the bytes up to `end`. */
  sha256: () => string;
  /** The number of records in all blocks. */
  records: number;
  blocks: { count: number; data: () => Buffer }[];
}

/** Null if the file ends within its header. Throws with file and byte. */
export function readContainer(path: string): ContainerContent | null {
  const bytes = readFileSync(path);
  let pos = 0;
  try {
    const header = parseContainerHeader(bytes);
    if (!header) return null;
    pos = header.length;
    const blocks: ContainerContent['blocks'] = [];
    let records = 0;
    for (;;) {
      const frame = parseBlockFrame(bytes, pos);
      if (!frame || frame.end > bytes.length) break;
      if (!bytes.subarray(frame.dataEnd, frame.end).equals(header.sync)) {
        throw new Error('the sync marker after its block is wrong');
      }
      blocks.push({
        count: frame.count,
        data: () => unpackBlock(header.codec, bytes.subarray(frame.dataStart, frame.dataEnd)),
      });
      records += frame.count;
      pos = frame.end;
    }
    const sha256 = () => hash('sha256', bytes.subarray(0, pos));
    return { header, end: pos, restBytes: bytes.length - pos, sha256, records, blocks };
  } catch (error) {
    throw new Error(`Cannot read ${path} at byte ${pos}: ${(error as Error).message}`, { cause: error });
  }
}
