import { MissingTopicsError, PartitionsChangedError } from '../../../projector/ports/event-log.ts';
import { realClock } from '../../../projector/running/clock.ts';
import type { Log } from '../../../projector/running/log.ts';
import { race } from '../../../projector/running/stop.ts';
import { BackOff } from '../../../projector/running/waiting.ts';
import { hintOf, refusalOf } from '../protocol/broker-refusal.ts';

const limits = { minMs: 250, maxMs: 5_000 };
/** A command that reads ends once Kafka has failed for so long. A frozen broker first fails after half a minute. */
export const commandGiveUpMs = 30_000;
/** Logged at the first failure and then about once a minute. */
const reportEvery = 12;

/** How long to ask a server again, and where that is told. */
export interface Asking {
  log: Log;
  /** After how long without a success it throws, once an attempt has failed. Without end by default. */
  giveUpMs?: number;
}

interface LoggedBackOffOptions extends Asking {
  signal: AbortSignal;
  /** Which server is awaited. `Kafka` by default. */
  who?: string;
}

/** A back-off that logs its start, about once a minute while it lasts, and its end. */
export class LoggedBackOff {
  readonly #what: string;
  readonly #options: Required<LoggedBackOffOptions>;
  readonly #backOff = new BackOff(limits, realClock);
  #failures = 0;
  /** Of the first failure. */
  #sinceMs = 0;

  /** `what`: the action, as an error message begins: `Cannot read from Kafka`. */
  constructor(what: string, options: LoggedBackOffOptions) {
    this.#what = what;
    this.#options = { who: 'Kafka', giveUpMs: Number.POSITIVE_INFINITY, ...options };
  }

  /** Resolves when it is time to try again. Throws if that is pointless: aborted, refused, or tried for long enough. */
  async failed(error: unknown): Promise<void> {
    const { log, signal, who, giveUpMs } = this.#options;
    signal.throwIfAborted();
    const refusal = refusalOf(error, who);
    if (refusal) throw new Error(`${this.#what}: ${refusal}`, { cause: error });
    if (this.#failures === 0) this.#sinceMs = realClock.nowMs();
    const fault = `${this.#what}: ${describeError(error)}${hintOf(error)}`;
    if (realClock.nowMs() - this.#sinceMs >= giveUpMs)
      throw new Error(`${fault}; given up after ${who} failed for ${giveUpMs / 1000} s`, { cause: error });
    if (this.#failures++ % reportEvery === 0) log.warn(`${fault}; trying again`);
    await this.#backOff.pause(signal);
    signal.throwIfAborted();
  }

  succeeded(): void {
    const { log, who } = this.#options;
    if (this.#failures > 0) log.info(`It could ${this.#what.replace('Cannot ', '')} now: ${who} answers again`);
    this.#failures = 0;
    this.#backOff.reset();
  }
}

/**
 * Retries until it succeeds. Throws what waiting cannot fix (missing topics, another number of partitions, `refusalOf`), and
 * the signal's reason.
 */
export async function untilAnswered<T>(
  what: string,
  attempt: () => Promise<T>,
  options: LoggedBackOffOptions,
): Promise<T> {
  const { signal } = options;
  const backOff = new LoggedBackOff(what, options);
  for (;;) {
    signal.throwIfAborted();
    try {
      // A frozen broker takes half a minute to time out. A process that is told to stop does not wait for it.
      const result = await race(signal, attempt());
      backOff.succeeded();
      return result;
    } catch (error) {
      if (error instanceof MissingTopicsError || error instanceof PartitionsChangedError) throw error;
      await backOff.failed(error);
    }
  }
}

/** An error's innermost messages, in one line. */
export function describeError(error: unknown): string {
  // kafkajs's own aggregate error has a message without information.
  const { errors } = (error ?? {}) as { errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return [...new Set(errors.map(describeError))].join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.cause ? describeError(error.cause) : error.message || error.name;
}
