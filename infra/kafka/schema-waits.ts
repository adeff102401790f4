import type { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import type { SchemaRegistry } from '../registry/schema-registry.ts';
import { type KafkaLog, LoggedBackOff } from './kafka-retry.ts';

/**
 * Looks up schemas for the partitions that wait for them, each id once however many wait, until the registry answers
 * (docs/rules.md#schema-registry).
 */
export class SchemaWaits {
  readonly #writers: WriterSchemas;
  readonly #registry: SchemaRegistry;
  readonly #log: KafkaLog;
  readonly #signal: AbortSignal;
  readonly #waits = new Map<number, { done: Promise<void>; away: boolean; onAway: Set<() => void> }>();

  constructor(writers: WriterSchemas, registry: SchemaRegistry, log: KafkaLog, signal: AbortSignal) {
    this.#writers = writers;
    this.#registry = registry;
    this.#log = log;
    this.#signal = signal;
  }

  /** Resolves once `writers` knows the id, or the signal aborts. Calls `onAway` if the registry does not answer. */
  wait(id: number, onAway: () => void): Promise<void> {
    let wait = this.#waits.get(id);
    if (!wait) {
      wait = { done: this.#untilKnown(id), away: false, onAway: new Set() };
      this.#waits.set(id, wait);
    }
    if (wait.away) onAway();
    else wait.onAway.add(onAway);
    return wait.done;
  }

  async #untilKnown(id: number): Promise<void> {
    const backOff = new LoggedBackOff(`Cannot look up schema ${id}`, {
      log: this.#log,
      signal: this.#signal,
      who: 'the schema registry',
    });
    while (!this.#signal.aborted) {
      try {
        this.#writers.addRegistered(id, await this.#registry.lookUp(id, this.#signal));
        backOff.succeeded();
        break;
      } catch (error) {
        this.#isAway(id);
        await backOff.failed(error).catch(() => undefined);
      }
    }
    this.#waits.delete(id);
  }

  #isAway(id: number): void {
    const wait = this.#waits.get(id)!;
    wait.away = true;
    for (const onAway of wait.onAway) onAway();
    wait.onAway.clear();
  }
}
