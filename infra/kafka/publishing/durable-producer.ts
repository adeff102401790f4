import kafkajs, { type ICustomPartitioner, type Message, type Producer } from 'kafkajs';
import { MissingTopicsError } from '../../../projector/ports/event-log.ts';
import type { Log } from '../../../projector/running/log.ts';
import { race, Stop } from '../../../projector/running/stop.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { KafkaCluster } from '../client/kafka-cluster.ts';
import type { KafkaConnection } from '../client/kafka-connection.ts';
import { kafkaJs } from '../client/kafka-js.ts';
import { describeError, untilAnswered } from '../client/logged-back-off.ts';
import { namingRight, refusalOf } from '../protocol/broker-refusal.ts';

const recordsMax = 5_000;
/** kafkajs puts all records of a send for one partition into one batch. By default brokers accept batches of 1 MiB. */
const bytesMax = 900_000;
/** The bytes of a record's own fields in a batch. */
const recordOverheadBytes = 32;

/** Sends records durably, in order, each once also if an acknowledgement is lost. Waits for brokers that are away. */
export class DurableProducer {
  readonly #producer: Producer;
  readonly #cluster: KafkaCluster;
  readonly #log: Log;
  readonly #closed: Stop;
  readonly #signal: AbortSignal;
  readonly #known = new Set<string>();
  #connected: Promise<void> | null = null;

  /** When the signal aborts, `send` rejects with its reason. What was in flight may have been written or not. */
  constructor(kafka: KafkaConnection, log: Log, signal?: AbortSignal) {
    this.#cluster = new KafkaCluster(kafka);
    this.#log = log;
    this.#closed = new Stop([signal]);
    this.#signal = this.#closed.signal;
    this.#producer = kafkaJs(kafka, log, this.#signal).producer({
      idempotent: true,
      // Order: with several requests in flight, one might overtake another that is retried.
      maxInFlightRequests: 1,
      // Like kafkajs's own, which takes minutes, and the process, for a key of a megabyte.
      createPartitioner: () => partitionOf,
      allowAutoTopicCreation: false,
    });
  }

  /** The offset of the first record in each partition. Throws what waiting cannot fix, such as MissingTopicsError. */
  async send(topic: string, messages: readonly Message[]): Promise<ReadonlyMap<number, number>> {
    const first = new Map<number, number>();
    await this.#assertExists(topic);
    const compression = kafkajs.CompressionTypes.ZSTD;
    for (const batch of batchesOf(messages, (message) => message)) {
      try {
        await this.#connect();
        const sending = this.#producer.send({ topic, messages: batch, acks: -1, compression });
        for (const { partition, baseOffset } of await race(this.#signal, sending)) {
          if (!first.has(partition)) first.set(partition, Number(baseOffset));
        }
      } catch (error) {
        this.#signal.throwIfAborted();
        const cause = namingRight(error, `Write on topic ${topic}`);
        const why = `${refusalOf(cause, 'Kafka') ?? describeError(cause)}${fixOf(cause)}`;
        throw new Error(`Cannot publish ${batch.length} records to ${topic}: ${why}`, { cause });
      }
    }
    return first;
  }

  async #connect(): Promise<void> {
    this.#connected ??= this.#producer.connect();
    // A right that was missing may be granted by the next attempt.
    await race(this.#signal, this.#connected).catch((error: unknown) => {
      this.#connected = null;
      throw error;
    });
  }

  /** kafkajs would wait for a missing topic forever. Checked once a topic. */
  async #assertExists(topic: string): Promise<void> {
    if (this.#known.has(topic)) return;
    const find = () => this.#cluster.topics([topic]);
    const found = await untilAnswered(`Cannot publish to ${topic}`, find, { log: this.#log, signal: this.#signal });
    if (found.length === 0)
      throw new MissingTopicsError(`Cannot publish to ${topic}: no such topic; make it with: npx ride-calendar topics`);
    this.#known.add(topic);
  }

  async close(): Promise<void> {
    this.#closed.end();
    await this.#cluster.close();
  }
}

const partitionOf: ReturnType<ICustomPartitioner> = ({ message: { key, partition }, partitionMetadata: all }) =>
  partition ?? (key === null || key === undefined ? 0 : murmur2Partition(Buffer.from(key), all.length));

const fixOf = (cause: unknown): string =>
  (cause as { type?: string }).type === 'INVALID_TIMESTAMP'
    ? "; its clock is ahead of Kafka's by more than the topic's message.timestamp.after.max.ms: set the clocks right"
    : '';

/**
 * Splits messages, in order, into batches of at most `recordsMax` records and `bytesMax` bytes. A larger record is sent
 * alone. One batch is one request to a partition, so its records have offsets without a gap.
 */
export function* batchesOf<M>(messages: readonly M[], asSent: (message: M) => Sized): Generator<M[]> {
  let batch: M[] = [];
  let bytes = 0;
  for (const message of messages) {
    const size = bytesOf(asSent(message));
    if (batch.length > 0 && (batch.length >= recordsMax || bytes + size > bytesMax)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(message);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

type Sized = Pick<Message, 'key' | 'value' | 'headers'>;

function bytesOf({ key, value, headers }: Sized): number {
  let bytes = recordOverheadBytes + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, content] of Object.entries(headers ?? {})) {
    bytes += name.length;
    for (const part of Array.isArray(content) ? content : [content]) bytes += part?.length ?? 0;
  }
  return bytes;
}
