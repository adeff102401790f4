/** Time and sleep, passed in so that back-off is tested without waiting. */
export interface Clock {
  nowMs(): number;
  /** Resolves after this time, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const clock = (ref: boolean): Clock => ({
  nowMs: () => performance.timeOrigin + performance.now(),
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

/** The real clock for background checks. Its sleep does not keep the process alive. */
export const backgroundClock: Clock = clock(false);
