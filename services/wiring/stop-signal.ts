const signals = ['SIGINT', 'SIGTERM'] as const;

/** Aborts on the first SIGINT or SIGTERM. The second, of either kind, ends the process at once, as if nobody listened. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const onSignal = (): void => {
    for (const name of signals) process.off(name, onSignal);
    stop.abort();
  };
  for (const name of signals) process.on(name, onSignal);
  return stop.signal;
}

/** Aborts `ms` after another signal has: time to finish what is in hand, where a server may never answer. */
export function abortsAfter(signal: AbortSignal, ms: number): AbortSignal {
  const late = new AbortController();
  // What is waited for keeps the process alive; the time alone does not.
  const begin = (): void => void setTimeout(() => late.abort(), ms).unref();
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return late.signal;
}
