import { createHash, type Hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  ContainerFormatError,
  type ContainerHeader,
  parseBlockFrame,
  parseContainerHeader,
  unpackBlock,
} from './avro-container.ts';

/** A container file's blocks, read at once. For files that are to be appended to. */
export interface ContainerContent {
  header: ContainerHeader;
  /** Where the whole blocks end. */
  end: number;
  /** Bytes of an incomplete block after them. */
  restBytes: number;
  /** A hash of the bytes up to `end`, to continue from. */
  sha256: () => Hash;
  blocks: { count: number; data: () => Buffer }[];
}

/** Null if the file ends within its header. Throws ContainerFormatError, with file and byte. */
export function readContainer(path: string): ContainerContent | null {
  const bytes = readFileSync(path);
  let pos = 0;
  try {
    const header = parseContainerHeader(bytes);
    if (!header) return null;
    pos = header.length;
    const blocks: ContainerContent['blocks'] = [];
    for (;;) {
      const frame = parseBlockFrame(bytes, pos);
      if (!frame || frame.end > bytes.length) break;
      if (!bytes.subarray(frame.dataEnd, frame.end).equals(header.sync)) {
        throw new ContainerFormatError('the sync marker after its block is wrong');
      }
      blocks.push({
        count: frame.count,
        data: () => unpackBlock(header.codec, bytes.subarray(frame.dataStart, frame.dataEnd)),
      });
      pos = frame.end;
    }
    const sha256 = () => createHash('sha256').update(bytes.subarray(0, pos));
    return { header, end: pos, restBytes: bytes.length - pos, sha256, blocks };
  } catch (error) {
    if (!(error instanceof ContainerFormatError)) throw error;
    throw new ContainerFormatError(`Cannot read ${path} at byte ${pos}: ${error.message}`, { cause: error });
  }
}
