import { uptime } from 'node:os';

/**
 * Time and sleep, passed in so that back-off is tested without waiting. There are two times, and a difference never mixes
 * them (docs/rules.md#clock).
 */
export interface Clock {
  /** Milliseconds since the process began, never stepped: for ages and waits, at both ends. It means nothing to others. */
  nowMs(): number;
  /** Milliseconds since the epoch by the machine's clock, which may be stepped at any time: for instants that others read. */
  wallMs(): number;
  /** Resolves after this time, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const clock = (ref: boolean): Clock => ({
  nowMs: () => performance.now(),
  wallMs: () => Date.now(),
  // Not by timers/promises: an aborted sleep would make an error with its stack, a thousand times a second.
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      if (!ref) timer.unref();
      signal?.addEventListener('abort', end);
    }),
});

export const realClock: Clock = clock(true);

/** Never stepped either, but goes on while the machine sleeps, where `nowMs` may stand still. */
export const machineUpMs = (): number => uptime() * 1_000;

/** The real clock for background checks. Its sleep does not keep the process alive. */
export const backgroundClock: Clock = clock(false);
