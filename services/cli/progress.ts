import { closing } from './closing.ts';
import { type ExitCode, type Io, tell } from './io.ts';

/** How much of a whole is done. */
export interface Part {
  done: number;
  total: number;
}

export interface Progress {
  update(value: number | Part): void;
  close(): void;
}

/** Draws a bar on standard error if that is a terminal. `total` null: a counter without an end. */
export async function showProgress(
  io: Pick<Io, 'errIsTerminal'>,
  title: string,
  total: number | null,
): Promise<Progress> {
  if (!io.errIsTerminal) return { update: () => {}, close: () => {} };
  const { default: cliProgress } = await import('cli-progress');
  const format =
    total === null ? `${title} {value} · {duration_formatted}` : `${title} {bar} {percentage} % · {duration_formatted}`;
  const bar = new cliProgress.SingleBar(
    { format, hideCursor: true, clearOnComplete: true, gracefulExit: false },
    cliProgress.Presets.shades_grey,
  );
  bar.start(total ?? 0, 0);
  return {
    update(value) {
      // It would draw the bar again.
      if (!bar.isActive) return;
      const { done, total } = typeof value === 'number' ? { done: value, total: bar.getTotal() } : value;
      bar.setTotal(total);
      bar.update(done);
    },
    close: () => bar.stop(),
  };
}

/** Draws progress while `work` runs. It is gone when this resolves or rejects, so other lines can be printed. */
export async function withProgress<T>(
  io: Pick<Io, 'errIsTerminal'>,
  title: string,
  total: number | null,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = await showProgress(io, title, total);
  return closing([progress], () => work(progress));
}

interface ReportingCommand {
  json: boolean | undefined;
  title: string;
  /** Where the progress ends. Absent: at 100. Null: it has no end. */
  total?: 100 | null;
  /** What is printed if a signal stops the command before its end. Absent: the error is thrown. */
  stopped?: string;
}

interface Outcome {
  /** What `--json` prints. */
  result: object;
  lines: readonly string[];
  code?: ExitCode;
}

/** Runs a command under a progress bar, and prints its outcome. */
export async function runWithProgress(
  { json, title, total = 100, stopped }: ReportingCommand,
  io: Io,
  run: (progress: Progress) => Promise<Outcome>,
): Promise<ExitCode> {
  try {
    const { result, lines, code = 0 } = await withProgress(io, title, total, run);
    tell(io, json, result, lines);
    return code;
  } catch (error) {
    if (stopped === undefined || !io.signal.aborted) throw error;
    io.err(`Stopped before the end: ${stopped}`);
    return 1;
  }
}
