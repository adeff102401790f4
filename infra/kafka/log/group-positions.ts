import { Admin } from '@platformatic/kafka';
import type { Log } from '../../../projector/running/log.ts';
import { settledWithin } from '../../../projector/running/waiting.ts';
import { adminOptions, type KafkaConnection } from '../client/kafka-connection.ts';
import { describeError } from '../client/logged-back-off.ts';
import { namingRight, refusalOf } from '../protocol/broker-refusal.ts';

const commitEveryMs = 5_000;
const closeWaitMs = 2_000;

/**
 * Commits positions to a consumer group without members, so that Kafka's own tools show the service's lag. Nothing
 * reads them: a projector folds the log from its start. A failure is logged once and otherwise ignored.
 */
export class GroupPositions {
  readonly #admin: Admin;
  readonly #group: string;
  readonly #log: Log;
  readonly #timer: NodeJS.Timeout;
  #reached = new Map<string, Map<number, bigint>>();
  #committing: Promise<void> = Promise.resolve();
  #complained = false;

  constructor(kafka: KafkaConnection, group: string, log: Log) {
    this.#admin = new Admin({ ...adminOptions(kafka), retries: 5, retryDelay: 200 });
    this.#group = group;
    this.#log = log;
    this.#timer = setInterval(() => void this.#commit(), commitEveryMs).unref();
  }

  /** Everything before `nextOffset` is folded. */
  reached(topic: string, partition: number, nextOffset: number): void {
    const partitions = this.#reached.get(topic) ?? new Map<number, bigint>();
    this.#reached.set(topic, partitions.set(partition, BigInt(nextOffset)));
  }

  #commit(): Promise<void> {
    this.#committing = this.#committing.then(async () => {
      if (this.#reached.size === 0) return;
      const topics = [...this.#reached].map(([name, partitions]) => ({
        name,
        partitionOffsets: [...partitions].map(([partition, offset]) => ({ partition, offset })),
      }));
      this.#reached = new Map();
      await this.#admin.alterConsumerGroupOffsets({ groupId: this.#group, topics }).catch(this.#failed);
    });
    return this.#committing;
  }

  readonly #failed = (error: unknown): void => {
    const why = refusalOf(namingRight(error, `Read on group ${this.#group}`), 'Kafka') ?? describeError(error);
    if (!this.#complained)
      this.#log.warn(`Cannot commit positions to group ${this.#group}, for lag tools only: ${why}`);
    this.#complained = true;
  };

  async close(): Promise<void> {
    clearInterval(this.#timer);
    // Bounded: it is not worth waiting for a broker that is away.
    await settledWithin(this.#commit(), closeWaitMs);
    // A commit that is cut off by closing is no failure to tell of.
    this.#complained = true;
    await settledWithin(this.#admin.close(), 250);
  }
}
