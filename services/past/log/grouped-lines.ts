import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeFault } from '../../../infra/archive/format/write-atomically.ts';

/** Lines of text that belong together. */
export interface LineGroup {
  /** Where its older lines are in the file: start and end of each piece, in turn, in bytes. */
  written: number[];
  /** Those in memory. */
  waiting: string[];
}

/** About so many bytes of lines are in memory. */
const waitingBytesMax = 16 << 20;
/** What a line takes beside its characters. */
const lineBytes = 32;

/** Lines by group, as they were added; beyond some megabytes in a file without a name, which goes with the process. */
export class GroupedLines {
  #bytes = 0;
  /** The groups that have lines in memory. */
  #filled: LineGroup[] = [];
  #file: { fd: number; path: string; bytes: number } | null = null;

  group(): LineGroup {
    return { written: [], waiting: [] };
  }

  /** Adds a line to some groups. */
  add(line: string, groups: Iterable<LineGroup>): void {
    for (const group of groups) {
      if (group.waiting.push(line) === 1) this.#filled.push(group);
      this.#bytes += line.length + lineBytes;
    }
    if (this.#bytes > waitingBytesMax) this.#write();
  }

  *of({ written, waiting }: LineGroup): Generator<string, void> {
    for (let i = 0; i < written.length; i += 2) {
      const [start, end] = [written[i]!, written[i + 1]!];
      const piece = Buffer.allocUnsafe(end - start);
      for (let at = start; at < end; ) at += readSync(this.#file!.fd, piece, at - start, end - at, at);
      yield* JSON.parse(piece.toString()) as string[];
    }
    yield* waiting;
  }

  close(): void {
    if (this.#file) closeSync(this.#file.fd);
  }

  /** Writes what is in memory, a piece for each group. */
  #write(): void {
    this.#file ??= openNameless();
    const { fd, path } = this.#file;
    for (const group of this.#filled) {
      const piece = Buffer.from(JSON.stringify(group.waiting));
      try {
        for (let done = 0; done < piece.length; ) done += writeSync(fd, piece, done);
      } catch (error) {
        throw writeFault(path, error);
      }
      group.written.push(this.#file.bytes, this.#file.bytes + piece.length);
      group.waiting = [];
      this.#file.bytes += piece.length;
    }
    this.#filled = [];
    this.#bytes = 0;
  }
}

/** It holds keys of riders' records, which must not stay where a process was killed. */
function openNameless() {
  const dir = mkdtempSync(join(tmpdir(), 'ride-calendar-lines-'));
  try {
    const path = join(dir, 'lines');
    return { fd: openSync(path, 'wx+'), path, bytes: 0 };
  } finally {
    rmSync(dir, { recursive: true });
  }
}
