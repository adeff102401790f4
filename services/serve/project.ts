import type { Logger } from 'pino';
import { FoldAgainError } from '../../projector/ports/event-log.ts';
import type { ProjectorMetrics } from '../../projector/ports/metrics.ts';
import { Projector } from '../../projector/projector.ts';
import { onAbort, Stop } from '../../projector/running/stop.ts';
import type { OpenLog } from '../backends/open-kafka.ts';
import type { OpenStore } from '../backends/open-view-store.ts';

/** How long the present round may still take after the signal: the process must end within 5 s. */
const finishMsMax = 3_000;

/** Between the background checks of two tags: all 64 take eleven minutes at least. */
const checkEveryMs = 10_000;

/** The projector that is running, or ran last. */
export interface Projecting {
  current(): Projector;
  /** Resolves when the signal has aborted. Rejects with the error that ended the projector. */
  done: Promise<void>;
}

/** Runs a projector until the signal aborts. Where the fold is no longer what the log gives, folds it again from the start. */
export async function project(
  { eventLog, rejects, partitioners }: OpenLog,
  store: OpenStore,
  metrics: ProjectorMetrics,
  log: Logger,
  signal: AbortSignal,
): Promise<Projecting> {
  const writer = await store.writer();
  const make = (): Projector =>
    new Projector({
      eventLog,
      writer,
      rejects,
      partitioners,
      log,
      metrics,
      checkEveryMs,
    });
  let projector = make();
  const close = () => Promise.allSettled([writer.close(), eventLog.close(), rejects?.close()]);
  // With a frozen server a round would never end. Closing the connections ends it.
  const stop = new Stop([signal], { finishMs: finishMsMax });
  const leave = onAbort(stop.ended, close);
  const run = async (): Promise<void> => {
    try {
      for (;;) {
        try {
          await projector.run(signal);
          return;
        } catch (cause) {
          if (!(cause instanceof FoldAgainError)) throw cause;
          log.warn(`Reading the log again from the start: ${cause.message}`);
          projector = make();
        }
      }
    } finally {
      leave();
      stop.end();
      await close();
    }
  };
  return { current: () => projector, done: run() };
}
