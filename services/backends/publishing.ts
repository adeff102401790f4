import { batchesOf } from '../../infra/kafka/publishing/durable-producer.ts';
import { countText } from '../../projector/running/log.ts';
import type { TopicDecoder } from '../../schemas/avro/topic-decoder.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { type Io, OutputClosedError } from '../cli/io.ts';
import type { PartitionOf } from './declared-partitions.ts';

/** A record to publish, encoded. */
export interface RecordToPublish {
  topic: TopicName;
  key: string;
  keyBytes: Buffer;
  /** Null is a tombstone. */
  valueBytes: Buffer | null;
  decoder: TopicDecoder;
  /** Absent: when it is published. */
  timestampMs?: number;
}

export type TargetRecord = RecordToPublish & { partition: number };

/** Where records are published: Kafka, or a new archive. */
export interface PublishTarget {
  partitionOf: PartitionOf;
  /** Resolves once all are durable, to the offset of the first record in each partition. The others follow without a gap. */
  publish(topic: TopicName, records: readonly TargetRecord[]): Promise<ReadonlyMap<number, number>>;
  /** Says that everything was published. An archive is there only then. */
  complete(): Promise<void>;
  close(): Promise<void>;
}

const pendingMax = 5_000;
const pendingBytesMax = 4 << 20;

type Sent = TargetRecord & { line: number };

/**
 * Publishes records as they come, one flight at a time, so that those of a key stay in order and little is in memory. While
 * one is under way the next is gathered: a slow input is published at once, a fast one in large batches.
 */
export class Publishing {
  /** How many records are durable. */
  acknowledged = 0;
  /** All records up to this line are. */
  #upTo = 0;
  /** How many of the lines after it are. */
  #beyond = 0;
  readonly #target: PublishTarget;
  readonly #places: Io | null;
  #pending: Sent[] = [];
  #bytes = 0;
  #flight: Promise<void> | null = null;

  /** `places`: where each record's place is printed. */
  constructor(target: PublishTarget, places: Io | null = null) {
    this.#target = target;
    this.#places = places;
  }

  /** Takes a record. Returns a promise if the next one must wait. */
  add(record: RecordToPublish, line = 0): Promise<void> | undefined {
    const { keyBytes, valueBytes } = record;
    this.#pending.push({ ...record, line, partition: this.#target.partitionOf(record.topic, keyBytes) });
    this.#bytes += keyBytes.length + (valueBytes?.length ?? 0);
    return this.#pending.length >= pendingMax || this.#bytes >= pendingBytesMax ? this.#landed() : undefined;
  }

  /** Publishes what is there, unless something is under way. */
  flush(): void {
    if (this.#flight !== null || this.#pending.length === 0) return;
    const pending = this.#pending;
    this.#pending = [];
    this.#bytes = 0;
    const flight = this.#publish(pending).then(() => {
      this.#flight = null;
      this.flush();
    });
    // Its error is thrown by the code that awaits it.
    flight.catch(() => undefined);
    this.#flight = flight;
  }

  /** Resolves once another flight can begin, and begins it. */
  async #landed(): Promise<void> {
    this.flush();
    if (this.#pending.length === 0) return;
    await this.#flight;
  }

  /** Resolves once everything is durable. */
  async end(): Promise<void> {
    this.flush();
    while (this.#flight !== null) await this.#flight;
  }

  /** Begins nothing more. Resolves once what is under way has ended. */
  async stop(): Promise<void> {
    this.#pending = [];
    await this.#flight?.catch(() => undefined);
  }

  /** Which records are durable, in words. */
  get place(): string {
    const beyond = this.#beyond > 0 ? `, and ${this.#beyond} of the lines after it` : '';
    const flying = this.#flight === null ? '' : '; those that were under way may be there too';
    return `${countText(this.acknowledged, 'record')} acknowledged, all up to line ${this.#upTo}${beyond}${flying}`;
  }

  async #publish(pending: readonly Sent[]): Promise<void> {
    const topics = Object.entries(Object.groupBy(pending, ({ topic }) => topic)) as [TopicName, Sent[]][];
    await Promise.all(topics.map((of) => this.#publishTopic(...of)));
    this.#upTo = pending.at(-1)!.line;
    this.#beyond = 0;
  }

  async #publishTopic(topic: TopicName, records: readonly Sent[]): Promise<void> {
    for (const batch of batchesOf(records, ({ keyBytes: key, valueBytes: value }) => ({ key, value }))) {
      const next = new Map(await this.#target.publish(topic, batch));
      this.acknowledged += batch.length;
      this.#beyond += batch.length;
      if (this.#places === null) continue;
      for (const { line, keyBytes, partition } of batch) {
        const offset = next.get(partition)!;
        next.set(partition, offset + 1);
        const place = `${topic}/${partition}@${offset}`;
        this.#places.out(JSON.stringify({ line, place, topic, key: keyBytes.toString(), partition, offset }));
      }
      await this.#places.taken()?.catch((cause: unknown) => {
        // What nobody reads any more is published all the same.
        if (!(cause instanceof OutputClosedError)) throw cause;
      });
    }
  }
}
