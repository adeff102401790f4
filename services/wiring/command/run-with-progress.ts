import type { ExitCode, Io } from './io.ts';
import { type Progress, withProgress } from './progress.ts';

interface ReportingCommand {
  json: boolean | undefined;
  /** What the progress counts. */
  title: string;
  /** Where the progress ends: at 100 if absent, null for never. */
  total?: 100 | null;
  /** What it says if it is told to stop before the end. */
  stopped?: string;
}

interface Outcome {
  /** What `--json` prints. */
  result: object;
  lines: readonly string[];
  code?: ExitCode;
}

/** Runs a command under a bar of progress, and prints what comes of it. */
export async function runWithProgress(
  { json, title, total = 100, stopped }: ReportingCommand,
  io: Io,
  run: (progress: Progress) => Promise<Outcome>,
): Promise<ExitCode> {
  try {
    const { result, lines, code = 0 } = await withProgress(io, title, total, run);
    for (const line of json ? [JSON.stringify(result)] : lines) io.out(line);
    return code;
  } catch (error) {
    if (stopped === undefined || !io.signal.aborted) throw error;
    io.err(`Stopped before the end: ${stopped}`);
    return 1;
  }
}
