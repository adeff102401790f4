import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';

const delayMaxMs = 5_000;

export interface InsistDeps {
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/**
 * Tries until it is done; null when told to stop first. Throws what is not worth trying again (`retry: false`). `what`
 * goes after "Cannot", as in `compare views`.
 */
export async function insist<T>(
  what: string,
  attempt: () => Promise<T>,
  { clock, log, signal }: InsistDeps,
): Promise<T | null> {
  let said = '';
  for (let delayMs = 100; !signal.aborted; delayMs = Math.min(delayMs * 2, delayMaxMs)) {
    try {
      const result = await attempt();
      if (said) log.info(`It could ${what} now`);
      return result;
    } catch (cause) {
      const { message, retry } = cause as Error & { retry?: boolean };
      if (signal.aborted) return null;
      if (retry === false) throw cause;
      // Once for each reason: it may be hours.
      if (message !== said) log.warn(`Cannot ${what}, trying again: ${message}`);
      said = message;
      await clock.sleep(delayMs, signal);
    }
  }
  return null;
}
