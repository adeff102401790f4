import { type Clock, realClock } from '../../projector/ports/clock.ts';
import { BackOff, untilAborted } from '../../projector/ports/waiting.ts';
import { hintOf, refusalOf } from './kafka-refusal.ts';

/** The part of a logger that is used here; a pino logger is one. */
export interface KafkaLog {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

const limits = { minMs: 250, maxMs: 5_000 };
/** Logged at the first failure and then about once a minute. */
const reportEvery = 12;

export interface LoggedBackOffOptions {
  log: KafkaLog;
  signal: AbortSignal;
  /** Who answers again in the end; `Kafka` by default. */
  who?: string;
  clock?: Clock;
}

/** A back-off that logs its beginning, about each minute that it goes on, and its end. */
export class LoggedBackOff {
  readonly #what: string;
  readonly #who: string;
  readonly #log: KafkaLog;
  readonly #signal: AbortSignal;
  readonly #backOff: BackOff;
  #failures = 0;

  /** `what`: the action, as an error message begins: `Cannot read from Kafka`. */
  constructor(what: string, { log, signal, who = 'Kafka', clock = realClock }: LoggedBackOffOptions) {
    this.#what = what;
    this.#who = who;
    this.#log = log;
    this.#signal = signal;
    this.#backOff = new BackOff(limits, clock);
  }

  /** Resolves when it is time to try again. Throws where that makes no sense: aborted, or refused. */
  async failed(error: unknown): Promise<void> {
    this.#signal.throwIfAborted();
    const refusal = refusalOf(error, this.#who);
    if (refusal) throw new Error(`${this.#what}: ${refusal}`, { cause: error });
    if (this.#failures++ % reportEvery === 0)
      this.#log.warn(`${this.#what}: ${describe(error)}${hintOf(error)}; trying again`);
    await this.#backOff.pause(this.#signal);
    this.#signal.throwIfAborted();
  }

  succeeded(): void {
    if (this.#failures > 0) this.#log.info(`${this.#what}: over, ${this.#who} answers again`);
    this.#failures = 0;
    this.#backOff.reset();
  }
}

export interface RetryOptions {
  log: KafkaLog;
  signal: AbortSignal;
  /** Whether waiting cannot mend this error. */
  isFatal?: (error: unknown) => boolean;
  clock?: Clock;
}

/**
 * Tries until it succeeds: Kafka comes back, and nothing is better than waiting for it. Throws what `isFatal` names, what Kafka refuses for good (`refusalOf`), and the signal's reason.
 */
export async function retry<T>(
  what: string,
  attempt: () => Promise<T>,
  { log, signal, isFatal = () => false, clock = realClock }: RetryOptions,
): Promise<T> {
  const backOff = new LoggedBackOff(what, { log, signal, clock });
  for (;;) {
    signal.throwIfAborted();
    try {
      // A broker that is frozen takes half a minute to time out: a process that is told to stop does not wait for it.
      const result = await untilAborted(attempt(), signal);
      backOff.succeeded();
      return result;
    } catch (error) {
      if (isFatal(error)) throw error;
      await backOff.failed(error);
    }
  }
}

/** The innermost messages of an error, in one line. */
export function describe(error: unknown): string {
  // kafkajs has an aggregate of its own, with a message that says nothing.
  const { errors } = (error ?? {}) as { errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return [...new Set(errors.map(describe))].join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.cause ? describe(error.cause) : error.message || error.name;
}
