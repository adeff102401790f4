import { Stop } from './stop.ts';

const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * Aborts on the first SIGINT or SIGTERM. The second signal, of either kind, ends the process at once, as by default.
 */
export function stopSignal(): AbortSignal {
  const stop = new Stop();
  const onSignal = (): void => {
    stop.end();
    // Not at once: signal-exit, which testcontainers loads, ends the process if nobody else listens while it is called.
    setImmediate(() => {
      for (const name of signals) process.off(name, onSignal);
    });
  };
  for (const name of signals) process.on(name, onSignal);
  return stop.signal;
}
