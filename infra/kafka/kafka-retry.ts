import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../abortable.ts';
import { hintOf, refusalOf } from './kafka-refusal.ts';

/** The part of a logger that is used here; a pino logger is one. */
export interface KafkaLog {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

const delayMinMs = 250;
const delayMaxMs = 5_000;
/** Said at the first failure and then about once a minute. */
const reportEvery = 12;

/** Waits longer after each failure in a row, and says through the log when they begin, go on and are over. */
export class Backoff {
  readonly #what: string;
  readonly #who: string;
  readonly #log: KafkaLog;
  readonly #signal: AbortSignal;
  #failures = 0;

  /** `what`: the action, as an error message begins: `Cannot read from Kafka`. `who` answers again in the end. */
  constructor(what: string, log: KafkaLog, signal: AbortSignal, who = 'Kafka') {
    this.#what = what;
    this.#who = who;
    this.#log = log;
    this.#signal = signal;
  }

  /** Resolves when it is time to try again. Throws where that makes no sense: aborted, or refused. */
  async failed(error: unknown): Promise<void> {
    this.#signal.throwIfAborted();
    const refusal = refusalOf(error, this.#who);
    if (refusal) throw new Error(`${this.#what}: ${refusal}`, { cause: error });
    if (this.#failures % reportEvery === 0)
      this.#log.warn(`${this.#what}: ${describe(error)}${hintOf(error)}; trying again`);
    const delayMs = Math.min(delayMinMs * 2 ** this.#failures++, delayMaxMs);
    await sleep(delayMs, undefined, { signal: this.#signal });
  }

  succeeded(): void {
    if (this.#failures > 0) this.#log.info(`${this.#what}: over, ${this.#who} answers again`);
    this.#failures = 0;
  }
}

/**
 * Tries until it succeeds: Kafka comes back, and nothing is better than waiting for it. Throws what `isFatal` says is
 * no matter of waiting, what Kafka refuses for good (`refusalOf`), and the signal's reason.
 */
export async function retry<T>(
  what: string,
  attempt: () => Promise<T>,
  { log, signal, isFatal = () => false }: { log: KafkaLog; signal: AbortSignal; isFatal?: (error: unknown) => boolean },
): Promise<T> {
  const backoff = new Backoff(what, log, signal);
  for (;;) {
    signal.throwIfAborted();
    try {
      // A broker that is frozen takes half a minute to time out: nobody waits for it who was told to stop.
      const result = await abortable(attempt(), signal);
      backoff.succeeded();
      return result;
    } catch (error) {
      if (isFatal(error)) throw error;
      await backoff.failed(error);
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
