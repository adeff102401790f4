import type { Clock } from './ports/clock.ts';
import type { Log } from './ports/log.ts';
import { retry } from './ports/waiting.ts';

const limits = { minMs: 100, maxMs: 5_000 };

export interface RetryDeps {
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/**
 * Attempts until one succeeds, and logs each new reason for failure. Null if told to stop first. Throws an error that
 * has `retry: false`. `what` follows "Cannot", as in `compare views`.
 */
export async function retryLogged<T>(
  what: string,
  attempt: () => Promise<T>,
  { clock, log, signal }: RetryDeps,
): Promise<T | null> {
  if (signal.aborted) return null;
  let reported = '';
  const onFailure = (cause: unknown): void => {
    const { message, retry: again } = cause as Error & { retry?: boolean };
    if (again === false) throw cause;
    // Once per reason: a fault may last for hours.
    if (message !== reported) log.warn(`Cannot ${what}, trying again: ${message}`);
    reported = message;
  };
  const attemptAndSay = async (): Promise<T> => {
    const result = await attempt();
    if (reported) log.info(`It could ${what} now`);
    return result;
  };
  return retry(attemptAndSay, { limits, clock, signal, onFailure });
}
