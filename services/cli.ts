import { executionAsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { stopSignal } from '../projector/running/stop-signal.ts';
import { OutputClosedError, type ProgramIo } from './cli/io.ts';
import { runCli } from './command-line.ts';

/** The program: runs a command line. ride-calendar.js imports it. */

let signal: AbortSignal | undefined;
/** Nobody reads our output any more: `head` has what it wants. */
let isClosed = false;

const io: ProgramIo = {
  out: (line, end = '\n') => isClosed || process.stdout.write(line + end),
  taken() {
    if (!isClosed && !process.stdout.writableNeedDrain) return undefined;
    const drained = isClosed ? Promise.reject() : once(process.stdout, 'drain', { signal: io.signal });
    return drained.catch((cause: unknown) => {
      throw isClosed ? new OutputClosedError() : cause;
    });
  },
  input: () => process.stdin,
  err: (line) => process.stderr.write(`${line}\n`),
  errIsTerminal: process.stderr.isTTY === true,
  // Made when it is first read. Until then Ctrl-C ends the process at once.
  get signal(): AbortSignal {
    signal ??= stopSignal();
    return signal;
  },
};

// Node makes each tick by a literal whose shape V8 forgets in a full collection that finds none, as while a log is folded. Each
// later tick is then made by the slow way, which took 4 µs of an answer. So one is kept.
const kept = new Set<object>();
process.nextTick(() => kept.add(executionAsyncResource()));

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // What a command does, it does to its end, and its exit code says how that went.
  if (error.code === 'EPIPE') isClosed = true;
  if (isClosed) return;
  io.err(`Cannot write to standard output: ${error.message}`);
  process.exit(1);
});

// Nobody can be told. A log that is lost, on a full disk, must not end what serves.
process.stderr.on('error', () => undefined);

process.exitCode = await runCli(process.argv.slice(2), io, process.env);
// What was printed must not be lost where its reader is slow.
if (!signal?.aborted && !isClosed) await new Promise((resolve) => process.stdout.write('', resolve));
// A connection that does not close must not keep a finished command alive.
setTimeout(() => process.exit(), 500).unref();
