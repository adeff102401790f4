import { backgroundClock, type Clock } from './clock.ts';

/**
 * Being told to stop, and waiting for something until then. Only this file listens to signals (test/layout.test.ts): what waits
 * in a loop, against a signal that lives as long as the process, would leave a listener there each time.
 */

interface StopOptions {
  /** How long what is in hand may take once it is told to stop. 0: it ends at once. */
  finishMs?: number;
  clock?: Clock;
}

/**
 * One stop of something that runs for a while: running, then stopping (what is in hand is finished, for `finishMs` at most),
 * then ended. It is told by any of the signals it is made after, by `stop`, or by `end`. Whoever makes one after signals that
 * outlast it ends it: it listens to them until then.
 */
export class Stop {
  readonly #stopping = new AbortController();
  readonly #ended: AbortController;
  readonly #finishMs: number;
  readonly #clock: Clock;
  #leave: (() => void)[] = [];

  constructor(
    after: readonly (AbortSignal | undefined)[] = [],
    { finishMs = 0, clock = backgroundClock }: StopOptions = {},
  ) {
    this.#ended = finishMs > 0 ? new AbortController() : this.#stopping;
    this.#finishMs = finishMs;
    this.#clock = clock;
    for (const signal of after) {
      if (signal) this.#leave.push(onAbort(signal, () => this.stop(signal.reason)));
    }
    if (this.signal.aborted) this.#leaveAll();
  }

  /** Aborts once it is told to stop: nothing new is begun. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Aborts once it has ended: what is still in hand is left. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  stop(reason?: unknown): void {
    if (this.signal.aborted) return;
    this.#leaveAll();
    this.#stopping.abort(reason);
    if (!this.ended.aborted) void this.#clock.sleep(this.#finishMs, this.ended).then(() => this.#ended.abort(reason));
  }

  end(): void {
    this.#leaveAll();
    // Of one that has aborted it would make an error, with its stack, all the same.
    for (const each of [this.#ended, this.#stopping]) if (!each.signal.aborted) each.abort();
  }

  #leaveAll(): void {
    for (const leave of this.#leave) leave();
    this.#leave = [];
  }
}

/** Calls once the signal aborts, also if it has. The returned function ends the listening. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  if (signal.aborted) call();
  else signal.addEventListener('abort', call, { once: true });
  return () => signal.removeEventListener('abort', call);
}

/** Resolves once the signal aborts, or one of these has settled. */
export const wait = (signal: AbortSignal, ...until: Promise<unknown>[]): Promise<void> =>
  race(signal, ...until).then(nothing, nothing);
const nothing = (): void => {};

/** The result of the first of these. Rejects with the signal's reason as soon as it aborts: the waiting ends, not the work. */
export const race = <T>(signal: AbortSignal | null, ...promises: Promise<T>[]): Promise<T> =>
  new Promise((resolve, reject) => {
    const leave: (() => void)[] = [];
    const then =
      <V>(tell: (value: V) => void) =>
      (value: V): void => {
        for (const each of leave) each();
        tell(value);
      };
    const waiter: Waiter<T> = { resolve: then(resolve), reject: then(reject) };
    for (const promise of promises) leave.push(awaited(promise, waiter));
    if (signal) leave.push(onAbort(signal, () => waiter.reject(signal.reason)));
  });

/** Work with a signal that aborts after `ms`, or when `signal` does. */
export async function within<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const stop = new Stop([signal]);
  const timer = setTimeout(() => stop.stop(new Error(`no answer within ${ms} ms`)), ms).unref();
  try {
    return await work(stop.signal);
  } finally {
    clearTimeout(timer);
    stop.end();
  }
}

interface Waiter<T> {
  resolve(value: T): void;
  reject(cause: unknown): void;
}

// A promise keeps all who ever awaited it. So each is awaited once, for whoever waits just now.
const waiting = new WeakMap<Promise<unknown>, Set<Waiter<never>>>();

function awaited<T>(promise: Promise<T>, waiter: Waiter<T>): () => void {
  let all = waiting.get(promise) as Set<Waiter<T>> | undefined;
  if (!all) {
    const found = new Set<Waiter<T>>();
    const settle = (tell: (one: Waiter<T>) => void): void => {
      waiting.delete(promise);
      for (const one of [...found]) tell(one);
    };
    promise.then(
      (value) => settle(({ resolve }) => resolve(value)),
      (cause: unknown) => settle(({ reject }) => reject(cause)),
    );
    waiting.set(promise, found);
    all = found;
  }
  all.add(waiter);
  return () => all.delete(waiter);
}
