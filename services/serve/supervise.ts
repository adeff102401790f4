import type { ViewReader } from '../../api/ports/view-reader.ts';
import { type Clock, realClock } from '../../projector/running/clock.ts';
import type { Log } from '../../projector/running/log.ts';
import { BackOff } from '../../projector/running/waiting.ts';
import type { Projecting } from './project.ts';

const limits = { minMs: 1_000, maxMs: 60_000 };
// A new view reader has to connect first.
const connectMs = 2_000;

interface Supervised extends Projecting {
  /** Why nothing is projected now. Null while a projector folds or follows. */
  trouble(): string | null;
}

interface SuperviseOptions {
  /** Starts another projector, with a log and a writer of its own. */
  begin(): Promise<Projecting>;
  reader: Pick<ViewReader, 'ready'>;
  log: Log;
  signal: AbortSignal;
  clock?: Clock;
}

/**
 * Keeps a projector running beside an API. If a projector ends, and the store has complete views, the API goes on: the
 * reason is logged, and after a back-off another projector starts, because topics or a log can come back. If there are no
 * complete views, `done` rejects with the error that ended the projector.
 */
export function supervise(first: Projecting, options: SuperviseOptions): Supervised {
  const { begin, reader, log, signal, clock = realClock } = options;
  let projecting = first;
  let trouble: string | null = null;
  const isServed = async (): Promise<boolean> => {
    if ((await reader.ready()).ready) return true;
    await clock.sleep(connectMs, signal);
    return (await reader.ready()).ready;
  };

  const run = async (): Promise<void> => {
    const backOff = new BackOff(limits, clock);
    for (;;) {
      const begunMs = clock.nowMs();
      try {
        await projecting.done;
        return;
      } catch (cause) {
        if (!(await isServed())) throw cause;
        trouble = (cause as Error).message;
        // It ran for longer than the longest pause, so this is a new fault.
        if (clock.nowMs() - begunMs > limits.maxMs) backOff.reset();
        log.error(
          `The projector has ended: ${trouble}. Reads go on from the views as they are; trying again in ${backOff.nextMs / 1000} s`,
        );
      }
      await backOff.pause(signal);
      if (signal.aborted) return;
      const { current } = projecting;
      projecting = await begin().catch((cause) => ({ current, done: Promise.reject(cause) }));
    }
  };
  return {
    current: () => projecting.current(),
    done: run(),
    trouble: () => (projecting.current().ready ? null : trouble),
  };
}
