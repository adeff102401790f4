import type { EventLog, Follower, LogBounds, LogRecord } from '../../projector/event-log.ts';
import { type AnyRecord, type TopicName, topicNames } from '../../schemas/records.ts';

/** A record to publish; `value` null is a tombstone. */
export interface BenchRecord {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
}

/** An event log in this process, of one partition a topic: what a real one costs is measured elsewhere. */
export function memoryEventLog(initial: Iterable<BenchRecord>): EventLog & { publish(record: BenchRecord): void } {
  const logs = new Map<TopicName, LogRecord[]>(topicNames.map((topic) => [topic, []]));
  let wake = (): void => {};
  const publish = ({ topic, key, value }: BenchRecord): void => {
    const log = logs.get(topic)!;
    const raw = () => ({ key: Buffer.from(key), value: null, headers: {} });
    log.push({ topic, partition: 0, offset: log.length, timestampMs: Date.now(), key, value, raw });
    wake();
  };
  for (const record of initial) publish(record);

  return {
    publish,
    bounds: async () =>
      Object.fromEntries(topicNames.map((topic) => [topic, [{ low: 0, end: logs.get(topic)!.length }]])) as LogBounds,
    async follow(from, follower: Follower, signal) {
      const next = new Map(topicNames.map((topic) => [topic, from[topic][0]!]));
      signal.addEventListener('abort', () => wake());
      while (!signal.aborted) {
        let progressed = false;
        for (const [topic, log] of logs) {
          const records = log.slice(next.get(topic)!, next.get(topic)! + 1_000);
          if (records.length === 0) continue;
          const nextOffset = records.at(-1)!.offset + 1;
          await follower.onBatch({ topic, partition: 0, records, nextOffset });
          next.set(topic, nextOffset);
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
