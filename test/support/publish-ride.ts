import { ArchiveWriter } from '../../infra/archive/archive-writer.ts';
import type { Night, Ride } from '../../schemas/events/records.ts';
import { readPortland } from './portland.ts';

/** Appends rides to a copy of Portland's archive, each with one night, now. Their ids. */
export async function publishRides(archive: string, count = 1): Promise<string[]> {
  const records = await readPortland(archive);
  const writer = new ArchiveWriter({ dir: archive });
  const last = (topic: 'rides' | 'nights') =>
    records.filter((record) => record.topic === topic && record.partition === 0).at(-1)!.offset;
  const like = (topic: 'rides' | 'nights') =>
    records.find((record) => record.topic === topic && record.value !== null)!.value!;
  const ids = Array.from({ length: count }, (_, i) => `new${records.length}x${i}`);
  for (const [i, id] of ids.entries()) {
    const ride = { ...(like('rides') as Ride), ride: id, title: `Ride ${id}`, posted: true };
    const night = { ...(like('nights') as Night), ride: id, meeting: null };
    const timestampMs = Date.now();
    const day = new Date(night.day * 86_400_000).toISOString().slice(0, 10);
    writer.append('rides', { partition: 0, offset: last('rides') + 1 + i, timestampMs, key: id, value: ride });
    const at = { partition: 0, offset: last('nights') + 1 + i, timestampMs };
    writer.append('nights', { ...at, key: `${id}/${day}`, value: night });
  }
  await writer.close();
  return ids;
}
