import { Readable } from 'node:stream';
import { pino } from 'pino';
import type { Log } from '../../../projector/running/log.ts';
import type { Io } from '../../../services/cli/io.ts';

export const silentLog: Log = { info() {}, warn() {}, error() {} };

/** A log whose lines are kept. */
export function keptLog(lines: string[] = []) {
  const keep = (line: string): void => void lines.push(line);
  return { lines, log: { info: keep, warn: keep, error: keep } satisfies Log };
}

/** Where a command prints that nobody listens to. */
export const quietIo: Io = {
  out() {},
  taken: () => undefined,
  input: () => Readable.from([]),
  err() {},
  errIsTerminal: false,
  signal: new AbortController().signal,
  log: pino({ level: 'silent' }),
};

/** What a command says, and its exit code. `input`: its standard input. */
export async function heard(
  run: (io: Io) => Promise<number>,
  signal = new AbortController().signal,
  input: Io['input'] = quietIo.input,
) {
  const [out, err]: [string[], string[]] = [[], []];
  let begun = '';
  const io: Io = {
    ...quietIo,
    out(line, end = '\n') {
      begun += line + end;
      if (end === '') return;
      out.push(begun.slice(0, -1));
      begun = '';
    },
    err: (line) => err.push(line),
    input,
    signal,
  };
  return { code: await run(io), out, err };
}
