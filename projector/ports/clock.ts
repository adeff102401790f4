import { setTimeout as delay } from 'node:timers/promises';

/** Time and sleep, passed in so that back-off is tested without waiting. */
export interface Clock {
  nowMs(): number;
  /** Resolves after this time, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const clock = (ref: boolean): Clock => ({
  nowMs: () => performance.timeOrigin + performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { ref, ...(signal && { signal }) }).catch(() => {}),
});

export const realClock: Clock = clock(true);

/** The real clock for background checks. Its sleep does not keep the process alive. */
export const backgroundClock: Clock = clock(false);
