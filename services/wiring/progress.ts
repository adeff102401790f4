import type { Io } from './io.ts';

export interface Progress {
  update(value: number): void;
  stop(): void;
}

/** Draws a bar on standard error if that is a terminal. `total` null: a counter without an end. */
export async function showProgress(io: Io, title: string, total: number | null): Promise<Progress> {
  if (!io.watched) return { update: () => {}, stop: () => {} };
  const { default: cliProgress } = await import('cli-progress');
  const format =
    total === null ? `${title} {value} · {duration_formatted}` : `${title} {bar} {percentage} % · {duration_formatted}`;
  const bar = new cliProgress.SingleBar(
    { format, stream: process.stderr, hideCursor: true, clearOnComplete: true, gracefulExit: false },
    cliProgress.Presets.shades_grey,
  );
  bar.start(total ?? 0, 0);
  return { update: (value) => bar.update(value), stop: () => bar.stop() };
}

/** Shows a share on a bar of 100. */
export const percentOf =
  (progress: Progress): ((part: { done: number; total: number }) => void) =>
  ({ done, total }) =>
    progress.update(total === 0 ? 100 : Math.floor((done * 100) / total));
