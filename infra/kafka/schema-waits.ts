import type { Log } from '../../projector/ports/log.ts';
import type { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import type { SchemaRegistry } from '../registry/schema-registry.ts';
import { untilAnswered } from './kafka-retry.ts';

/**
 * Looks up schemas for the partitions that wait for them, each id once however many wait, until the registry answers
 * (docs/rules.md#schema-registry).
 */
export class SchemaWaits {
  readonly #writers: WriterSchemas;
  readonly #registry: SchemaRegistry;
  readonly #log: Log;
  readonly #signal: AbortSignal;
  readonly #waits = new Map<number, { known: Promise<void>; away: Promise<void> }>();

  constructor(writers: WriterSchemas, registry: SchemaRegistry, log: Log, signal: AbortSignal) {
    this.#writers = writers;
    this.#registry = registry;
    this.#log = log;
    this.#signal = signal;
  }

  /** Resolves once `writers` knows the id, or the signal aborts. Calls `onAway` if the registry does not answer. */
  wait(id: number, onAway: () => void): Promise<void> {
    let wait = this.#waits.get(id);
    if (!wait) {
      const away = Promise.withResolvers<void>();
      wait = { known: this.#untilKnown(id, away.resolve), away: away.promise };
      this.#waits.set(id, wait);
    }
    void wait.away.then(onAway);
    return wait.known;
  }

  async #untilKnown(id: number, isAway: () => void): Promise<void> {
    const lookUp = async (): Promise<void> => {
      try {
        this.#writers.addRegistered(id, await this.#registry.lookUp(id, this.#signal));
      } catch (error) {
        isAway();
        throw error;
      }
    };
    const options = { log: this.#log, signal: this.#signal, who: 'the schema registry' };
    // It throws only once the signal aborts.
    await untilAnswered(`Cannot look up schema ${id}`, lookUp, options).catch(() => undefined);
    this.#waits.delete(id);
  }
}
