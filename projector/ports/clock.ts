import { setTimeout as delay } from 'node:timers/promises';

/** Time and sleep, passed in so that back-off is tested without waiting. */
export interface Clock {
  nowMs(): number;
  /** Resolves after a time, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const realClock: Clock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : {}).catch(() => {}),
};
