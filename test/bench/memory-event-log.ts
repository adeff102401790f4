import { kafkaLogRecord } from '../../infra/kafka/kafka-log-record.ts';
import type { EncodedRecord, EventLog, Follower, LogBounds } from '../../projector/ports/event-log.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { type AnyRecord, type TopicName, topicNames } from '../../schemas/events/records.ts';

/** A record to publish; `value` null is a tombstone. */
export interface BenchRecord {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
}

const writers = new WriterSchemas();

/**
 * An event log in this process, of one partition a topic: what a real one costs is measured elsewhere. It forgets what
 * it has delivered, so that it is followed once, from the start.
 */
export function memoryEventLog(initial: Iterable<BenchRecord>): EventLog & { publish(record: BenchRecord): void } {
  const waiting = new Map<TopicName, EncodedRecord[]>(topicNames.map((topic) => [topic, []]));
  const ends = new Map<TopicName, number>(topicNames.map((topic) => [topic, 0]));
  let wake = (): void => {};
  const publish = ({ topic, key, value }: BenchRecord): void => {
    const offset = ends.get(topic)!;
    ends.set(topic, offset + 1);
    const bytes = value && encodeValue(topic, value as never);
    const fetched = { offset, timestampMs: Date.now(), key: Buffer.from(key), value: bytes, headers: [] };
    waiting.get(topic)!.push(kafkaLogRecord(topic, 0, fetched, writers) as EncodedRecord);
    wake();
  };
  for (const record of initial) publish(record);

  return {
    publish,
    bounds: async () => Object.fromEntries([...ends].map(([topic, end]) => [topic, [{ low: 0, end }]])) as LogBounds,
    async follow(_from, follower: Follower, signal) {
      signal.addEventListener('abort', () => wake());
      while (!signal.aborted) {
        let progressed = false;
        for (const [topic, records] of waiting) {
          if (records.length === 0) continue;
          waiting.set(topic, []);
          await follower.onBatch({ topic, partition: 0, records, nextOffset: records.at(-1)!.offset + 1 });
          progressed = true;
        }
        if (progressed) await new Promise((resolve) => setImmediate(resolve));
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
    close: async () => {},
  };
}
