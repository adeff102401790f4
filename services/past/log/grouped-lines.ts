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

/** So many bytes of lines are in memory. */
const waitingBytesMax = 8 << 20;
/** A line takes at most this many bytes for each UTF-16 unit. */
const unitBytesMax = 3;

/**
 * Lines by group, in the order in which they were added. Beyond some megabytes they are in a temporary file, which has no
 * name and goes with the process.
 */
export class GroupedLines {
  #waiting = Buffer.allocUnsafe(1 << 16);
  #used = 0;
  readonly #filled = new Set<LineGroup>();
  #file: { fd: number; path: string; bytes: number } | null = null;

  group(): LineGroup {
    return { written: [], waiting: [] };
  }

  /** Adds a line without line breaks to some groups. */
  add(line: string, groups: Iterable<LineGroup>): void {
    const bytesMax = unitBytesMax * line.length + 1;
    if (this.#used + bytesMax > waitingBytesMax) this.#write();
    if (this.#used + bytesMax > this.#waiting.length) {
      const grown = Buffer.allocUnsafe(Math.max(2 * this.#waiting.length, this.#used + bytesMax));
      this.#waiting.copy(grown, 0, 0, this.#used);
      this.#waiting = grown;
    }
    const start = this.#used;
    this.#used += this.#waiting.write(`${line}\n`, start);
    for (const group of groups) {
      group.waiting.push(start, this.#used);
      this.#filled.add(group);
    }
  }

  *of(group: LineGroup): Generator<string, void> {
    for (const { at, length } of group.written) {
      const bytes = Buffer.allocUnsafe(length);
      for (let done = 0; done < length; ) done += readSync(this.#file!.fd, bytes, done, length - done, at + done);
      yield* linesOf(bytes);
    }
    yield* linesOf(this.#waitingOf(group));
  }

  close(): void {
    if (this.#file) closeSync(this.#file.fd);
  }

  #waitingOf({ waiting }: LineGroup): Buffer {
    const lines: Buffer[] = [];
    for (let i = 0; i < waiting.length; i += 2) lines.push(this.#waiting.subarray(waiting[i], waiting[i + 1]));
    return Buffer.concat(lines);
  }

  #write(): void {
    this.#file ??= openNameless();
    const { fd, path } = this.#file;
    for (const group of this.#filled) {
      const bytes = this.#waitingOf(group);
      try {
        for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
      } catch (error) {
        throw writeFault(path, error);
      }
      group.written.push({ at: this.#file.bytes, length: bytes.length });
      group.waiting = [];
      this.#file.bytes += bytes.length;
    }
    this.#filled.clear();
    this.#used = 0;
  }
}

function* linesOf(bytes: Buffer): Generator<string> {
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    yield bytes.toString('utf8', start, end);
    start = end + 1;
  }
}

/** It holds keys of riders' records, which must not stay where a process was killed. */
function openNameless(): { fd: number; path: string; bytes: number } {
  const dir = mkdtempSync(join(tmpdir(), 'ride-calendar-lines-'));
  try {
    const path = join(dir, 'lines');
    return { fd: openSync(path, 'wx+'), path, bytes: 0 };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
