import { setImmediate } from 'node:timers/promises';
import { kafkaLogRecord } from '../../infra/kafka/kafka-log-record.ts';
import { placeOf } from '../../infra/reject-places.ts';
import type {
  EncodedRecord,
  EventLog,
  Follower,
  LogBounds,
  Position,
  Reject,
} from '../../projector/ports/event-log.ts';
import type { LogPublisher, PublishedRecord } from '../../projector/ports/log-publisher.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { murmur2Partition } from '../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';

type Slot = PublishedRecord | null;

/** A log that keeps what it is told to publish, as Kafka's topics would: in partitions, with offsets from `low` on. */
export class KeptLog implements EventLog, LogPublisher {
  readonly rejected: Reject[] = [];
  readonly rejects = { publish: async (rejects: readonly Reject[]) => this.#reject(rejects) };
  readonly low: number;
  readonly #partitions: Record<TopicName, Slot[][]>;
  readonly #writers = new WriterSchemas();
  /** As many records are still taken; then the connection is gone. */
  #left = Number.POSITIVE_INFINITY;

  constructor(partitions: number | ((topic: TopicName) => number), low = 0) {
    this.low = low;
    const count = (topic: TopicName) => (typeof partitions === 'number' ? partitions : partitions(topic));
    this.#partitions = Object.fromEntries(
      topicNames.map((topic) => [topic, Array.from({ length: count(topic) }, () => [])]),
    ) as never;
  }

  partition(topic: TopicName, partition: number): Slot[] {
    return this.#partitions[topic][partition]!;
  }

  /** All that it holds, partition by partition. */
  all(topic: TopicName): PublishedRecord[] {
    return this.#partitions[topic].flat().filter((slot): slot is PublishedRecord => slot !== null);
  }

  /** Ends after so many records more, as a process does that is killed: what went through has gone through. */
  dieAfter(records: number): void {
    this.#left = records;
  }

  /** Takes superseded records out, as far as `keep` says so of their index from the end. */
  compact(keep: (fromEnd: number) => boolean): void {
    for (const slots of topicNames.flatMap((topic) => this.#partitions[topic])) {
      const later = new Set<string>();
      for (let i = slots.length - 1; i >= 0; i--) {
        const key = String(slots[i]?.key);
        if (later.has(key) && !keep(slots.length - 1 - i)) slots[i] = null;
        later.add(key);
      }
    }
  }

  async publish(topic: TopicName, records: readonly PublishedRecord[]): Promise<ReadonlyMap<number, number>> {
    const slots = this.#partitions[topic];
    const first = new Map<number, number>();
    for (const record of records) {
      const partition = record.partition ?? murmur2Partition(Buffer.from(record.key!), slots.length);
      if (this.#left-- <= 0) throw new Error('killed');
      if (!first.has(partition)) first.set(partition, this.low + slots[partition]!.length);
      slots[partition]!.push(record);
    }
    await setImmediate();
    return first;
  }

  #reject(rejects: readonly Reject[]): number {
    const fresh = rejects.filter((one) => !this.rejected.some((known) => placeOf(known) === placeOf(one)));
    this.rejected.push(...fresh);
    return fresh.length;
  }

  async bounds(): Promise<LogBounds> {
    const { low } = this;
    return Object.fromEntries(
      topicNames.map((topic) => [topic, this.#partitions[topic].map(({ length }) => ({ low, end: low + length }))]),
    ) as LogBounds;
  }

  async follow(from: Position, follower: Follower, signal: AbortSignal): Promise<void> {
    for (const topic of topicNames) {
      for (const [partition, slots] of this.#partitions[topic].entries()) {
        if (signal.aborted) return;
        const start = from[topic][partition]! - this.low;
        if (start >= slots.length) continue;
        const records = slots.flatMap((slot, i) => (slot && i >= start ? [this.#read(topic, partition, i, slot)] : []));
        await follower.onBatch({ topic, partition, records, nextOffset: this.low + slots.length });
      }
    }
  }

  async close(): Promise<void> {}

  #read(
    topic: TopicName,
    partition: number,
    index: number,
    { key, value, timestampMs, headers = [] }: PublishedRecord,
  ) {
    const named = headers.map((header) => [Buffer.from(header.key), header.value] as const);
    const fetched = { offset: this.low + index, timestampMs, key: Buffer.from(key!), value, headers: named };
    return kafkaLogRecord(topic, partition, fetched, this.#writers) as EncodedRecord;
  }
}
