import type { Clock } from './ports/clock.ts';
import type { Log } from './ports/log.ts';
import { retry } from './ports/waiting.ts';

const limits = { minMs: 100, maxMs: 5_000 };

export interface RetryDeps {
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** Logs each new reason of a failure once, because a fault may last for hours, and the success after it. */
export class LoggedFault {
  readonly #what: string;
  readonly #log: Log;
  #message = '';

  /** `what` follows "Cannot", as in `compare views`. */
  constructor(what: string, log: Log) {
    this.#what = what;
    this.#log = log;
  }

  /** Throws an error that has `retry: false`: waiting does not help. */
  happened(cause: unknown): void {
    const { message, retry: again } = cause as Error & { retry?: boolean };
    if (again === false) throw cause;
    if (message !== this.#message) this.#log.warn(`Cannot ${this.#what}, trying again: ${message}`);
    this.#message = message;
  }

  over(): void {
    if (this.#message) this.#log.info(`It could ${this.#what} now`);
    this.#message = '';
  }
}

/**
 * Attempts until one succeeds, and logs each new reason for failure. Null if told to stop first. Throws an error that
 * has `retry: false`.
 */
export async function retryLogged<T>(
  what: string,
  attempt: () => Promise<T>,
  { clock, log, signal }: RetryDeps,
): Promise<T | null> {
  if (signal.aborted) return null;
  const fault = new LoggedFault(what, log);
  const attemptAndSay = async (): Promise<T> => {
    const result = await attempt();
    fault.over();
    return result;
  };
  return retry(attemptAndSay, { limits, clock, signal, onFailure: (cause) => fault.happened(cause) });
}
