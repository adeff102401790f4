import { type Clock, realClock } from './clock.ts';
import type { Log } from './log.ts';
import { onAbort, Stop } from './stop.ts';

/** The first pause and the longest, in milliseconds. */
interface BackOffLimits {
  minMs: number;
  maxMs: number;
}

/** Pauses between attempts. Each is twice as long as the one before, up to the longest. */
export class BackOff {
  readonly #limits: BackOffLimits;
  readonly #clock: Clock;
  #nextMs: number;

  constructor(limits: BackOffLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#nextMs = limits.minMs;
  }

  /** The length of the next pause. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** Resolves when it is time for the next attempt, or at once when the signal aborts. */
  async pause(signal: AbortSignal): Promise<void> {
    const ms = this.#nextMs;
    this.#nextMs = Math.min(ms * 2, this.#limits.maxMs);
    await this.#clock.sleep(ms, signal);
  }

  /** Call after a success: the next pause is the shortest again. */
  reset(): void {
    this.#nextMs = this.#limits.minMs;
  }
}

interface RetryOptions {
  limits: BackOffLimits;
  clock: Clock;
  signal: AbortSignal;
  /** Reports the failure, or throws it if another attempt cannot succeed. Not called once the signal has aborted. */
  onFailure(error: unknown): void;
}

/** Attempts at least once, then until one attempt succeeds: `retry(() => fetch(url), …)`. Null if the signal aborts first. */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T | null> {
  const { limits, clock, signal, onFailure } = options;
  const backOff = new BackOff(limits, clock);
  do {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) return null;
      onFailure(error);
      await backOff.pause(signal);
    }
  } while (!signal.aborted);
  return null;
}

/** Lets loops wait until something may have changed. A `notify` is not kept for loops that begin to wait later. */
export class WakeUp {
  readonly #sleepers = new Set<() => void>();

  /** Wakes all waiting loops. */
  notify(): void {
    const sleepers = [...this.#sleepers];
    this.#sleepers.clear();
    for (const wake of sleepers) wake();
  }

  /** Resolves at the next `notify`, or at once when the signal aborts. */
  wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = (): void => {
        leave?.();
        this.#sleepers.delete(wake);
        resolve();
      };
      this.#sleepers.add(wake);
      const leave = signal && onAbort(signal, wake);
    });
  }

  /** As `wait`, and after `ms` at the latest. */
  async waitAtMost(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    const woken = new Stop([signal]);
    // A reason of our own: the default one is an error with its stack, at every wake-up.
    const wake = (): void => woken.stop('woken');
    this.#sleepers.add(wake);
    await clock.sleep(ms, woken.signal);
    this.#sleepers.delete(wake);
    woken.end();
  }
}

/**
 * Resolves once the promise has settled, and after `ms` at the latest. For closing connections to a server that may be
 * frozen.
 */
export async function settledWithin(promise: Promise<unknown>, ms: number, clock: Clock = realClock): Promise<void> {
  const settled = new Stop();
  const settle = (): void => settled.end();
  promise.then(settle, settle);
  await clock.sleep(ms, settled.signal);
}

// Rendering and comparing are synchronous. After this long the event loop gets a turn.
const turnMs = 10;

/** Yields to the event loop now and then, in work that would block it for long. */
export class Turns {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock = realClock) {
    this.#clock = clock;
    this.#sinceMs = clock.nowMs();
  }

  /** Whether the event loop has been blocked long enough. */
  due(): boolean {
    return this.#clock.nowMs() - this.#sinceMs > turnMs;
  }

  async take(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#sinceMs = this.#clock.nowMs();
  }
}

// The longest pause is short: there may be no leader until the store is asked again.
const loggedLimits = { minMs: 100, maxMs: 2_000 };

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
 * Attempts until one succeeds, and logs each new reason for failure: `retryLogged('compare views', compare, deps)`. Null if
 * told to stop first. Throws an error that has `retry: false`.
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
  return retry(attemptAndSay, { limits: loggedLimits, clock, signal, onFailure: (cause) => fault.happened(cause) });
}
