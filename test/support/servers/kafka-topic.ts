import type { EachBatchPayload } from 'kafkajs';
import { freshGroup } from './backends.ts';
import { kafkaClient, topicBounds } from './kafka.ts';

/** A record as it lies in a topic. */
export interface TopicRecord {
  partition: number;
  offset: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, string>;
}

/** Everything a topic holds now, read with kafkajs: not with the service's own fetcher. */
export async function readTopic(brokers: string, topic: string): Promise<TopicRecord[]> {
  const client = kafkaClient(brokers);
  const admin = client.admin();
  await admin.connect();
  const bounds = await topicBounds(admin, topic);
  await admin.disconnect();
  const left = new Map(bounds.filter(({ low, high }) => low !== high).map((p) => [p.partition, Number(p.high)]));
  const records: TopicRecord[] = [];
  if (left.size === 0) return records;
  const consumer = client.consumer({ groupId: freshGroup(), readUncommitted: false, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    // On a fresh broker the first group waits for its coordinator: kafkajs starts again by itself.
    consumer.on('consumer.crash', ({ payload }) => {
      if (!payload.restart) reject(payload.error);
    });
    const eachBatch = async ({ batch }: EachBatchPayload) => {
      const { partition } = batch;
      for (const { offset, key, value, headers = {} } of batch.messages) {
        const texts = Object.entries(headers).map(([name, content]) => [name, String(content)]);
        records.push({ partition, offset: Number(offset), key, value, headers: Object.fromEntries(texts) });
      }
      if (Number(batch.lastOffset()) + 1 >= (left.get(partition) ?? 0)) left.delete(partition);
      if (left.size === 0) resolve();
    };
    consumer.run({ eachBatch }).catch(reject);
  });
  await consumer.disconnect();
  return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
}
