import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeFault } from '../../../infra/archive/format/write-atomically.ts';

/** Lines of text that belong together. */
export interface LineGroup {
  /** Where its older lines are in the file: start and length of each piece, in bytes. */
  written: { at: number; length: number }[];
  /** Where its last lines are in memory: start and end of each, in turn. */
  waiting: number[];
}

interface LinesFile {
  fd: number;
  path: string;
  bytes: number;
  /** Where one group's lines are put together. */
  ofGroup: Buffer;
}

/** So many bytes of lines are in memory. */
const waitingBytesMax = 8 << 20;
/** A line takes at most this many bytes for each UTF-16 unit. */
const unitBytesMax = 3;
/** Before each line stands how many bytes it has: a key may hold line breaks. */
const lengthBytes = 4;

/**
 * Lines by group, in the order in which they were added. Beyond some megabytes they are in a temporary file, which has no
 * name and goes with the process.
 */
export class GroupedLines {
  #waiting = Buffer.allocUnsafe(1 << 16);
  #used = 0;
  readonly #filled = new Set<LineGroup>();
  #file: LinesFile | null = null;

  group(): LineGroup {
    return { written: [], waiting: [] };
  }

  /** Adds a line to some groups. */
  add(line: string, groups: Iterable<LineGroup>): void {
    const bytesMax = unitBytesMax * line.length + lengthBytes;
    if (this.#used + bytesMax > waitingBytesMax) this.#write();
    if (this.#used + bytesMax > this.#waiting.length) {
      const grown = Buffer.allocUnsafe(Math.max(2 * this.#waiting.length, this.#used + bytesMax));
      this.#waiting.copy(grown, 0, 0, this.#used);
      this.#waiting = grown;
    }
    const start = this.#used;
    const length = this.#waiting.write(line, start + lengthBytes);
    this.#waiting.writeUInt32LE(length, start);
    this.#used += lengthBytes + length;
    for (const group of groups) {
      group.waiting.push(start, this.#used);
      this.#filled.add(group);
    }
  }

  *of({ written, waiting }: LineGroup): Generator<string, void> {
    const bytes = Buffer.allocUnsafe(Math.max(0, ...written.map(({ length }) => length)));
    for (const { at, length } of written) {
      for (let done = 0; done < length; ) done += readSync(this.#file!.fd, bytes, done, length - done, at + done);
      for (let end = 0; end < length; ) {
        const start = end + lengthBytes;
        end = start + bytes.readUInt32LE(end);
        yield bytes.toString('utf8', start, end);
      }
    }
    for (let i = 0; i < waiting.length; i += 2)
      yield this.#waiting.toString('utf8', waiting[i]! + lengthBytes, waiting[i + 1]);
  }

  close(): void {
    if (this.#file) closeSync(this.#file.fd);
  }

  #write(): void {
    this.#file ??= openNameless();
    // One line may be longer than all that is in memory otherwise.
    if (this.#file.ofGroup.length < this.#used) this.#file.ofGroup = Buffer.allocUnsafe(this.#used);
    const { fd, path, ofGroup } = this.#file;
    for (const group of this.#filled) {
      const { waiting } = group;
      let length = 0;
      for (let i = 0; i < waiting.length; i += 2) {
        length += this.#waiting.copy(ofGroup, length, waiting[i], waiting[i + 1]);
      }
      try {
        for (let done = 0; done < length; ) done += writeSync(fd, ofGroup, done, length - done);
      } catch (error) {
        throw writeFault(path, error);
      }
      group.written.push({ at: this.#file.bytes, length });
      group.waiting = [];
      this.#file.bytes += length;
    }
    this.#filled.clear();
    this.#used = 0;
  }
}

/** It holds keys of riders' records, which must not stay where a process was killed. */
function openNameless(): LinesFile {
  const dir = mkdtempSync(join(tmpdir(), 'ride-calendar-lines-'));
  try {
    const path = join(dir, 'lines');
    return { fd: openSync(path, 'wx+'), path, bytes: 0, ofGroup: Buffer.alloc(0) };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
