import { once } from 'node:events';
import { stopSignal } from '../projector/running/stop-signal.ts';
import type { ProgramIo } from './cli/io.ts';
import { runCli } from './command-line.ts';

/** The program: runs a command line. ride-calendar.js imports it. */

let signal: AbortSignal | undefined;

const io: ProgramIo = {
  out: (line, end = '\n') => process.stdout.write(line + end),
  taken: () => (process.stdout.writableNeedDrain ? once(process.stdout, 'drain', { signal: io.signal }) : undefined),
  input: () => process.stdin,
  err: (line) => process.stderr.write(`${line}\n`),
  errIsTerminal: process.stderr.isTTY === true,
  // Made when it is first read. Until then Ctrl-C ends the process at once.
  get signal(): AbortSignal {
    signal ??= stopSignal();
    return signal;
  },
};

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The program that reads our output may stop early, as `head` does. That is not an error.
  if (error.code === 'EPIPE') process.exit();
  io.err(`Cannot write to standard output: ${error.message}`);
  process.exit(1);
});

// Nobody can be told. A log that is lost, on a full disk, must not end what serves.
process.stderr.on('error', () => undefined);

process.exitCode = await runCli(process.argv.slice(2), io, process.env);
// What was printed must not be lost where its reader is slow.
if (!signal?.aborted) await new Promise((resolve) => process.stdout.write('', resolve));
// A connection that does not close must not keep a finished command alive.
setTimeout(() => process.exit(), 500).unref();
