import { runCli } from './command-line.ts';
import type { Io } from './wiring/io.ts';

/** The program itself: runs the command that it was called with. ride-calendar.js imports it. */

let controller: AbortController | undefined;

const io: Io = {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  watched: process.stderr.isTTY === true,
  // Made when asked for: `start`, `api` and `projector` hear signals themselves.
  get signal(): AbortSignal {
    controller ??= abortOnSignal();
    return controller.signal;
  },
};

/** On the first SIGINT or SIGTERM; the second one ends the process at once, as if nobody listened. */
function abortOnSignal(): AbortController {
  const made = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => made.abort());
  return made;
}

// Whoever reads our output may stop early, as `head` does: no fault of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await runCli(process.argv.slice(2), io, process.env);
// A connection that does not close must not keep a finished command alive.
setTimeout(() => process.exit(), 3_000).unref();
