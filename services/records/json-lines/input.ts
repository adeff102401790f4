import { createReadStream, statSync } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import type { RecordToPublish } from '../../backends/publishing.ts';
import type { Io } from '../../cli/io.ts';
import { showProgress } from '../../cli/progress.ts';
import { LineError } from './json-form.ts';
import { linesOf, readLine } from './json-line.ts';

/** A line with its record, or what is wrong with it. */
interface Line {
  number: number;
  record: RecordToPublish | LineError;
}

/** The lines of a file, or of standard input (`-`), as they come, with progress on a terminal. Ends with the signal's reason. */
export async function* recordsOf(name: string | undefined, title: string, io: Io): AsyncGenerator<Iterable<Line>> {
  const file = name === '-' ? undefined : name;
  const found = file === undefined ? undefined : statSync(file);
  const total = found?.isFile() ? found.size : null;
  const stream = file === undefined ? io.input() : createReadStream(file, { highWaterMark: 256 << 10 });
  if (file === undefined && io.input().isTTY) io.err('Reading JSON Lines from the terminal; Ctrl-D ends them');
  const progress = await showProgress(io, title, total && 100);
  let [done, last] = [0, 0];
  try {
    for await (const lines of linesOf(addAbortSignal(io.signal, stream as Readable))) {
      yield lines.values().map(({ number, line }) => ({ number, record: recordOf(line) }));
      last = lines.at(-1)?.number ?? last;
      for (const { line } of lines) done += line.length + 1;
      progress.update(total === null ? last : { done, total });
    }
  } catch (error) {
    if (!(error instanceof LineError)) throw error;
    yield [{ number: last + 1, record: error }];
  } finally {
    progress.close();
  }
}

function recordOf(line: Buffer): RecordToPublish | LineError {
  try {
    return readLine(line, Date.now());
  } catch (error) {
    if (error instanceof LineError) return error;
    throw error;
  }
}
