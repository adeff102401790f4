import { setTimeout as sleep } from 'node:timers/promises';
import type { ViewReader } from '../../api/ports/view-reader.ts';
import type { Log } from '../../projector/ports/log.ts';
import { FencedError } from '../../projector/writing/tag-lanes.ts';
import { aborted } from './listen.ts';
import type { Projecting } from './project.ts';

const firstWaitMs = 1_000;
const waitMsMax = 60_000;
const lookMs = 100;
const looksMax = 20;

export interface Kept extends Projecting {
  /** Why nothing is projected just now; null while a projector folds or follows. */
  trouble(): string | null;
}

export interface KeepOptions {
  /** Begins a projector, with a log and a writer of its own. */
  begin(): Promise<Projecting>;
  reader: Pick<ViewReader, 'ready'>;
  log: Log;
  signal: AbortSignal;
  pause?(ms: number, signal: AbortSignal): Promise<unknown>;
}

/**
 * Keeps a projector running beside an API. While the store holds complete views, its end takes no reads away: the reason
 * is said, and another is begun after a while, again and again, since topics or a log can come back. Where a newer
 * projector has taken over, none is. `done` rejects with what ended it where there is nothing to serve either.
 */
export async function keepProjecting(options: KeepOptions): Promise<Kept> {
  const { begin, reader, log, signal, pause = quietPause } = options;
  let projecting = await begin();
  let trouble: string | null = null;

  // A reader that has just been made knows of nothing before it is connected.
  const isServed = async (): Promise<boolean> => {
    for (let looks = 0; looks < looksMax && !signal.aborted; looks++) {
      if ((await reader.ready()).ready) return true;
      await pause(lookMs, signal);
    }
    return false;
  };

  const run = async (): Promise<void> => {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, waitMsMax)) {
      const begunMs = Date.now();
      try {
        await projecting.done;
        return;
      } catch (cause) {
        if (!(await isServed())) throw cause;
        trouble = (cause as Error).message;
        if (cause instanceof FencedError) {
          log.warn(`${trouble}. Reads go on from its views; start this process again to take over`);
          return aborted(signal);
        }
        // It ran well for long: this is a new trouble.
        if (Date.now() - begunMs > waitMsMax) waitMs = firstWaitMs;
        log.error(
          `The projector has ended: ${trouble}. Reads go on from the views as they are; trying again in ${waitMs / 1000} s`,
        );
      }
      await pause(waitMs, signal);
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

const quietPause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined);
