import type { TopicName } from '../../../schemas/events/records.ts';
import { type ArchiveSources, PartitionCursor } from './partition-cursor.ts';

/** Called for each record, with the cursor on it. Returns a promise if the next record must wait. */
type Visit = (cursor: PartitionCursor) => unknown;

/** Visits a topic's records: each partition in the log's order, and of several partitions the earliest record first. */
export async function eachOfTopic(
  sources: ArchiveSources,
  topic: TopicName,
  signal: AbortSignal,
  visit: Visit,
): Promise<void> {
  const partitions = sources.partitions.filter((source) => source.topic === topic);
  const cursors = partitions.map((source) => new PartitionCursor(sources, source));
  try {
    let open = await loaded(cursors);
    while (open.length > 0) {
      signal.throwIfAborted();
      await visitLoaded(open, visit);
      open = await loaded(open);
    }
  } finally {
    for (const cursor of cursors) await cursor.close();
  }
}

/** The partitions that have not ended, each with a record loaded. */
async function loaded(cursors: readonly PartitionCursor[]): Promise<PartitionCursor[]> {
  const open: PartitionCursor[] = [];
  for (const cursor of cursors) if (cursor.encoded !== null || (await cursor.fill())) open.push(cursor);
  return open;
}

/** Visits records, the earliest first, until a partition has none loaded. Of equal times, lower partitions first. */
async function visitLoaded(cursors: readonly PartitionCursor[], visit: Visit): Promise<void> {
  for (;;) {
    let first: PartitionCursor | null = null;
    for (const cursor of cursors) {
      if (cursor.encoded === null) return;
      if (!first || cursor.latestMs < first.latestMs) first = cursor;
    }
    const busy = visit(first!);
    if (busy) await busy;
    first!.step();
  }
}
