const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * Aborts on the first SIGINT or SIGTERM. The second signal, of either kind, ends the process at once, as by default.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const onSignal = (): void => {
    stop.abort();
    // Not at once: signal-exit, which testcontainers loads, ends the process if nobody else listens while it is called.
    setImmediate(() => {
      for (const name of signals) process.off(name, onSignal);
    });
  };
  for (const name of signals) process.on(name, onSignal);
  return stop.signal;
}

/** Aborts `ms` after `signal` does. So long the present step may take to finish: a server may never answer. */
export function abortsAfter(signal: AbortSignal, ms: number): AbortSignal {
  const late = new AbortController();
  // The step keeps the process alive. This timer must not.
  const begin = (): void => void setTimeout(() => late.abort(), ms).unref();
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return late.signal;
}
