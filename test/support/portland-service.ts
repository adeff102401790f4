import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { toLogRecord } from './histories.ts';
import { readPortland } from './portland.ts';
import { projecting } from './service.ts';

/** A view store that holds all of Portland, as the projector leaves it. */
export async function portlandViews(): Promise<MemoryViewStore> {
  const store = new MemoryViewStore();
  const projector = await projecting(store.writer());
  const records = await readPortland();
  for (const topic of topicNames) {
    for (const record of records.filter((record) => record.topic === topic)) {
      const { partition, offset } = record;
      await projector.take({ topic, partition, records: [toLogRecord(record)], nextOffset: offset + 1 });
    }
  }
  await projector.settle();
  await projector.complete();
  return store;
}

/** An instant of Portland's fullest month. */
export const portlandNowMs = Date.parse('2015-06-13T19:00:00Z');
