import type { ViewReader } from '../../api/ports/view-reader.ts';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { redisViewReader } from '../../infra/redis/views/redis-view-reader.ts';
import type { ViewWriter } from '../../projector/ports/view-writer.ts';
import type { Settings } from '../settings/settings.ts';

export interface OpenStore {
  writer(): Promise<ViewWriter>;
  reader(): ViewReader;
  /** Where the views are, in words. */
  where: string;
}

/** The view store that the settings name: Redis, or this process's memory. */
export function openViewStore({ redis }: Settings): OpenStore {
  if (!redis) {
    const store = new MemoryViewStore();
    return { writer: async () => store.writer(), reader: () => store.reader(), where: 'memory' };
  }
  return {
    // Loaded on demand. Without it a process that writes nothing starts a fifth faster.
    writer: async () => (await import('../../infra/redis/views/redis-view-writer.ts')).redisViewWriter(redis),
    reader: () => redisViewReader(redis),
    where: redis.cluster ? 'a Redis Cluster' : 'Redis',
  };
}
