import { createHash, type Hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  ContainerFormatError,
  type ContainerHeader,
  parseBlockFrame,
  parseContainerHeader,
  unpackBlock,
} from './avro-container.ts';

/** A container file's blocks, read at once: for files that are to be written on. */
export interface ContainerContent {
  header: ContainerHeader;
  /** Where the whole blocks end. */
  end: number;
  /** Bytes of half a block behind them. */
  restBytes: number;
  /** A hash of the bytes up to `end`, to go on with. */
  sha256: () => Hash;
  blocks: { count: number; data: () => Buffer }[];
}

/** null where the file ends within its header. Throws ContainerFormatError, with file and byte. */
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
