import { createReadStream, statSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import type { Io } from '../../cli/io.ts';
import { linesOf } from './json-line.ts';

export interface Lines {
  chunks: ReturnType<typeof linesOf>;
  /** How many bytes were read. */
  read(): number;
  /** How many there are. Null: that is not known. */
  size: number | null;
}

/** The lines of a file, or of standard input. Ends with the signal's reason. */
export function inputOf(file: string | undefined, io: Io): Lines {
  if (file === undefined) {
    const input = io.input();
    if (input.isTTY) io.err('Reading JSON Lines from the terminal; Ctrl-D ends them');
    return { chunks: linesOf(addAbortSignal(io.signal, input as Readable)), read: () => 0, size: null };
  }
  const stream = createReadStream(file, { highWaterMark: 256 << 10, signal: io.signal });
  const found = statSync(file);
  return { chunks: linesOf(stream), read: () => stream.bytesRead, size: found.isFile() ? found.size : null };
}
