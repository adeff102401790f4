import { deliveredRecord } from '../../../infra/kafka/log/delivered-record.ts';
import { placeOf } from '../../../infra/reject-places.ts';
import type {
  EncodedRecord,
  EventLog,
  Follower,
  LogBounds,
  Position,
  Reject,
  RejectSink,
} from '../../../projector/ports/event-log.ts';
import type { LogPublisher, PublishedRecord } from '../../../projector/ports/log-publisher.ts';
import { wait } from '../../../projector/running/stop.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { byTopic, type TopicName } from '../../../schemas/events/records.ts';
import { type History, type HistoryRecord, toLogRecord } from '../worlds/histories.ts';

/**
 * An event log in an array. It delivers in the order given (each partition's own order must be that of its offsets), a
 * few records at a time, and goes on as records are appended or published.
 */
export class MemoryEventLog implements EventLog, LogPublisher {
  readonly rejected: Reject[] = [];
  readonly rejects: RejectSink = {
    publish: async (rejects) => {
      const known = new Set(this.rejected.map(placeOf));
      const fresh = rejects.filter((one) => !known.has(placeOf(one)));
      this.rejected.push(...fresh);
      this.#heldRejects += fresh.length;
      return fresh.length;
    },
    holdsAll: async () => {
      const held = this.#heldRejects <= this.rejected.length;
      this.#heldRejects = this.rejected.length;
      return held;
    },
    close: async () => {},
  };
  #heldRejects = 0;
  readonly #partitions: Record<TopicName, number>;
  #records: EncodedRecord[] = [];
  readonly #batchMax: number;
  /** The first offset of every partition. */
  readonly #low: number;
  readonly #writers = new WriterSchemas();
  /** As many records are still published; then the connection is gone. */
  #left = Number.POSITIVE_INFINITY;
  /** How many records are delivered for now; the bounds tell of all. */
  #revealed = Number.POSITIVE_INFINITY;
  #grown: (() => void)[] = [];

  constructor(history: Pick<History, 'partitions' | 'records'>, batchMax = 7, low = 0) {
    this.#low = low;
    this.#partitions = history.partitions;
    this.#records.push(...history.records.map(toLogRecord));
    this.#batchMax = batchMax;
  }

  append(...records: HistoryRecord[]): void {
    this.#records.push(...records.map(toLogRecord));
    this.#grow();
  }

  async publish(topic: TopicName, records: readonly PublishedRecord[]): Promise<ReadonlyMap<number, number>> {
    const ends = (await this.bounds())[topic].map(({ end }) => end);
    const first = new Map<number, number>();
    for (const record of records) {
      const partition = record.partition ?? murmur2Partition(Buffer.from(record.key!), ends.length);
      if (this.#left-- <= 0) throw new Error('killed');
      const offset = ends[partition]!++;
      if (!first.has(partition)) first.set(partition, offset);
      const fetched = { ...record, offset, key: Buffer.from(record.key!), headers: record.headers ?? [] };
      this.#records.push(deliveredRecord(topic, partition, fetched, this.#writers, false) as EncodedRecord);
    }
    this.#grow();
    return first;
  }

  /** Ends after so many records more, as a process does that is killed: what went through has gone through. */
  dieAfter(records: number): void {
    this.#left = records;
  }

  /** Takes superseded records out, as far as `keep` says so of their offsets. */
  compact(keep: (offset: number) => boolean): void {
    const keyOf = ({ topic, partition, keyBytes }: EncodedRecord): string => `${topic}/${partition}/${keyBytes}`;
    const last = new Map(this.#records.map((record) => [keyOf(record), record]));
    this.#records = this.#records.filter((record) => last.get(keyOf(record)) === record || keep(record.offset));
  }

  /** All that the log holds. */
  get records(): readonly EncodedRecord[] {
    return this.#records;
  }

  /** All that a topic holds, as it was published. */
  all(topic: TopicName): PublishedRecord[] {
    return this.#records
      .filter((record) => record.topic === topic)
      .map(({ keyBytes: key, valueBytes: value, timestampMs, headers = [] }) => ({
        key,
        value,
        timestampMs: Number(timestampMs),
        headers,
      }));
  }

  /** Delivers no more than the first records, though the log's ends are beyond them. */
  reveal(count: number): void {
    this.#revealed = count;
    this.#grow();
  }

  async bounds(): Promise<LogBounds> {
    const low = this.#low;
    const ofTopic = (topic: TopicName) => Array.from({ length: this.#partitions[topic] }, () => ({ low, end: low }));
    const bounds: LogBounds = byTopic(ofTopic);
    for (const { topic, partition, offset } of this.#records) bounds[topic][partition]!.end = offset + 1;
    return bounds;
  }

  async follow(from: Position, follower: Follower, signal: AbortSignal): Promise<void> {
    // What a hold keeps back, in order; the rest goes on.
    let waiting: EncodedRecord[] = [];
    let next = 0;
    while (!signal.aborted) {
      const fresh = this.#records.slice(next, Math.min(this.#records.length, this.#revealed));
      next += fresh.length;
      const offered = [...waiting, ...fresh];
      const holds = new Map<string, Promise<void>>();
      waiting = [];
      for (let i = 0; i < offered.length && !signal.aborted; ) {
        const { topic, partition } = offered[i]!;
        const name = `${topic}/${partition}`;
        const hold = follower.hold?.(topic, partition) ?? null;
        // A hold that moves meanwhile must not let a later record pass an earlier one.
        const end = holds.has(name) ? 0 : (hold?.offset ?? Number.POSITIVE_INFINITY);
        const first = i;
        while (i < offered.length && i < first + this.#batchMax) {
          const record = offered[i]!;
          if (record.topic !== topic || record.partition !== partition || record.offset >= end) break;
          i += 1;
        }
        const records = offered.slice(first, i);
        const wanted = records.filter(({ offset }) => offset >= from[topic][partition]!);
        if (records.length > 0) {
          await follower.onBatch({ topic, partition, records: wanted, nextOffset: records.at(-1)!.offset + 1 });
          continue;
        }
        waiting.push(offered[i++]!);
        if (holds.has(name)) continue;
        holds.set(name, hold!.moved);
        // The hold may be within a gap that compaction has left.
        await follower.onBatch({ topic, partition, records: [], nextOffset: end });
      }
      if (waiting.length === offered.length) await Promise.race([this.#untilGrown(signal), ...holds.values()]);
    }
  }

  async close(): Promise<void> {}

  #grow(): void {
    for (const grown of this.#grown.splice(0)) grown();
  }

  #untilGrown(signal: AbortSignal): Promise<void> {
    return wait(signal, new Promise<void>((resolve) => this.#grown.push(resolve)));
  }
}
