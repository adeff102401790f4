import type { AnyLogRecord, EventLog, Follower, LogBounds, Position } from '../../projector/ports/event-log.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { toDelivered } from './delivered.ts';
import type { History, HistoryRecord } from './histories.ts';

/**
 * An event log in an array, for tests of the projector alone: it delivers in the order given (each partition's own order
 * must be that of its offsets), a few records at a time, and goes on as records are appended.
 */
export class MemoryEventLog implements EventLog {
  readonly #partitions: Record<TopicName, number>;
  readonly #records: AnyLogRecord[] = [];
  readonly #batchMax: number;
  /** How many records are delivered for now; the bounds tell of all. */
  #revealed = Number.POSITIVE_INFINITY;
  readonly #followers = new Set<Follower>();
  #grown: (() => void)[] = [];

  constructor(history: Pick<History, 'partitions' | 'records'>, batchMax = 7) {
    this.#partitions = history.partitions;
    this.#records.push(...history.records.map(toDelivered));
    this.#batchMax = batchMax;
  }

  append(...records: HistoryRecord[]): void {
    this.#records.push(...records.map(toDelivered));
    this.#grow();
  }

  /** Delivers no more than the first records, though the log's ends are beyond them. */
  reveal(count: number): void {
    this.#revealed = count;
    this.#grow();
  }

  /** Says to whoever follows that a partition waits for something outside the log, or no longer does. */
  setWaiting(topic: TopicName, partition: number, waiting: boolean): void {
    for (const follower of this.#followers) follower.onWaiting?.(topic, partition, waiting);
  }

  async bounds(): Promise<LogBounds> {
    const bounds = {} as LogBounds;
    for (const topic of topicNames) {
      bounds[topic] = Array.from({ length: this.#partitions[topic] }, () => ({ low: 0, end: 0 }));
    }
    for (const { topic, partition, offset } of this.#records) bounds[topic][partition]!.end = offset + 1;
    return bounds;
  }

  async follow(from: Position, follower: Follower, signal: AbortSignal): Promise<void> {
    this.#followers.add(follower);
    try {
      for (let next = 0; !signal.aborted; ) {
        const first = this.#records[next];
        if (!first || next >= this.#revealed) {
          await this.#untilGrown(signal);
          continue;
        }
        const { topic, partition } = first;
        const records: AnyLogRecord[] = [];
        for (; records.length < this.#batchMax && next < this.#revealed; next++) {
          const record = this.#records[next];
          if (record?.topic !== topic || record.partition !== partition) break;
          records.push(record);
        }
        const wanted = records.filter(({ offset }) => offset >= from[topic][partition]!);
        await follower.onBatch({ topic, partition, records: wanted, nextOffset: records.at(-1)!.offset + 1 });
      }
    } finally {
      this.#followers.delete(follower);
    }
  }

  async close(): Promise<void> {}

  #grow(): void {
    for (const grown of this.#grown.splice(0)) grown();
  }

  #untilGrown(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#grown.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}
