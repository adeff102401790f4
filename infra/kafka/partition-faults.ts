import type { Clock } from '../../projector/ports/clock.ts';
import type { ReaderPartition } from './kafka-reader.ts';
import { type KafkaLog, LoggedBackOff } from './kafka-retry.ts';

/**
 * Partitions that cannot be read now, each with its own back-off. The other partitions of the broker are read
 * meanwhile.
 */
export class PartitionFaults {
  readonly #backOffs = new Map<ReaderPartition, LoggedBackOff>();
  readonly #resting = new Set<ReaderPartition>();
  readonly #deps: { log: KafkaLog; signal: AbortSignal; clock: Clock };

  constructor(deps: { log: KafkaLog; signal: AbortSignal; clock: Clock }) {
    this.#deps = deps;
  }

  /** Whether a partition must not be fetched now. */
  rests(partition: ReaderPartition): boolean {
    return this.#resting.has(partition);
  }

  /**
   * Resolves when the partition may be fetched again. Throws errors that waiting does not fix, and the signal's reason.
   */
  async failed(partition: ReaderPartition, error: unknown): Promise<void> {
    let backOff = this.#backOffs.get(partition);
    if (!backOff) {
      backOff = new LoggedBackOff(`Cannot read ${partition.topic}/${partition.partition} from Kafka`, this.#deps);
      this.#backOffs.set(partition, backOff);
    }
    this.#resting.add(partition);
    try {
      await backOff.failed(error);
    } finally {
      this.#resting.delete(partition);
    }
  }

  succeeded(partition: ReaderPartition): void {
    this.#backOffs.get(partition)?.succeeded();
    this.#backOffs.delete(partition);
  }
}
