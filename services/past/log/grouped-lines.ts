import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeFault } from '../../../infra/archive/format/write-atomically.ts';

/** Lines of text that belong together. */
export interface LineGroup {
  /** Where its older lines are in the file: start and end of each piece, in turn, in bytes. */
  written: number[];
  /** The number of its last line in memory, 0 if there is none. */
  last: number;
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

/** Lines by group, as they were added; beyond some megabytes in a file without a name, which goes with the process. */
export class GroupedLines {
  #waiting = Buffer.allocUnsafe(1 << 16);
  #used = 0;
  /** Lines in memory are numbered from 1, for each of their groups: where it stands, and which is its group's line before. */
  readonly #starts: number[] = [0];
  readonly #before: number[] = [0];
  #numbered = 0;
  /** The groups that have lines in memory. */
  readonly #filled: LineGroup[] = [];
  #file: LinesFile | null = null;

  group(): LineGroup {
    return { written: [], last: 0 };
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
      if (group.last === 0) this.#filled.push(group);
      this.#starts[++this.#numbered] = start;
      this.#before[this.#numbered] = group.last;
      group.last = this.#numbered;
    }
  }

  *of({ written, last }: LineGroup): Generator<string, void> {
    let bytes = Buffer.alloc(0);
    for (let i = 0; i < written.length; i += 2) {
      const at = written[i]!;
      const length = written[i + 1]! - at;
      if (bytes.length < length) bytes = Buffer.allocUnsafe(length);
      for (let done = 0; done < length; ) done += readSync(this.#file!.fd, bytes, done, length - done, at + done);
      for (let end = 0; end < length; ) {
        const start = end + lengthBytes;
        end = start + bytes.readUInt32LE(end);
        yield bytes.toString('utf8', start, end);
      }
    }
    for (const start of this.#startsOf(last))
      yield this.#waiting.toString('utf8', start + lengthBytes, this.#endOf(start));
  }

  /** Where a group's lines stand in memory. */
  #startsOf(last: number): number[] {
    const starts: number[] = [];
    for (let i = last; i > 0; i = this.#before[i]!) starts.push(this.#starts[i]!);
    return starts.reverse();
  }

  #endOf(start: number): number {
    return start + lengthBytes + this.#waiting.readUInt32LE(start);
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
      let length = 0;
      for (const start of this.#startsOf(group.last))
        length += this.#waiting.copy(ofGroup, length, start, this.#endOf(start));
      try {
        for (let done = 0; done < length; ) done += writeSync(fd, ofGroup, done, length - done);
      } catch (error) {
        throw writeFault(path, error);
      }
      group.written.push(this.#file.bytes, this.#file.bytes + length);
      group.last = 0;
      this.#file.bytes += length;
    }
    this.#filled.length = 0;
    this.#numbered = 0;
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
