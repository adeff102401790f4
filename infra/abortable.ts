import { setTimeout as sleep } from 'node:timers/promises';

/** What the promise comes to; rejects with the signal's reason as soon as it aborts. Gives up the waiting, not the work. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Resolves once the promise has settled, and after `ms` at the latest: for goodbyes to a server that may be frozen. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  const settled = new AbortController();
  const late = sleep(ms, undefined, { signal: settled.signal }).catch(() => undefined);
  await Promise.race([promise.catch(() => undefined), late]);
  settled.abort();
}
