import { Cluster, type Redis } from 'ioredis';
import type { StoreMemory } from '../../api/ports/view-reader.ts';

/** What a Redis says of its memory (`INFO memory`). Without maxmemory it has the machine's, if it says how much that is. */
export function memoryIn(info: string): StoreMemory {
  const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const limitBytes = figure('maxmemory') || figure('total_system_memory') || Number.POSITIVE_INFINITY;
  return { usedBytes: figure('used_memory'), limitBytes };
}

/** The memory of a Redis, or of the fullest master of a Redis Cluster: a full master refuses every write to its tags. */
export async function redisMemory(client: Redis | Cluster): Promise<StoreMemory> {
  const masters = client instanceof Cluster ? client.nodes('master') : [client];
  const memories = (await Promise.all(masters.map((master) => master.info('memory')))).map(memoryIn);
  return memories.reduce((fullest, one) => (share(one) > share(fullest) ? one : fullest));
}

const share = ({ usedBytes, limitBytes }: StoreMemory): number => usedBytes / limitBytes;
