import type { Bounds, EventLog, LogBounds, Position } from '../../../projector/ports/event-log.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { ArchiveCopyError, followToEnds } from './archive-copy.ts';
import { type LoadSource, loadSequence } from './load-sequence.ts';
import { isBeginning, loadedAnywhere, newerKeys } from './loaded-before.ts';
import { RecordColumns } from './record-columns.ts';

/** How many records of a load each partition has already, by topic. */
export type LoadStart = Record<TopicName, number[]>;

const load = 'Cannot load the archive';
const anew = 'load into empty topics, for example of a new KAFKA_TOPIC_PREFIX';

/**
 * Finds where a load begins in each partition, from what the topics hold: nothing, or the beginning of this same load,
 * which was stopped. Throws ArchiveCopyError for anything else. `append`: other records may come before it, but none
 * that is newer than a record of its key that would follow. After all of it others may come too: it is not loaded twice.
 */
export async function loadStart(
  source: LoadSource,
  target: { log: EventLog; bounds: LogBounds },
  append: boolean,
): Promise<LoadStart> {
  const start = {} as LoadStart;
  for (const topic of topicNames) {
    const bounds = target.bounds[topic];
    start[topic] = bounds.map(() => 0);
    if (bounds.every(({ low, end }) => low === end)) continue;
    const there = await readThere(target, topic, source.signal);
    const wanted = await readWanted(source, topic, append ? null : bounds);
    const compare = append ? appended : continued;
    for (const partition of bounds.keys()) {
      start[topic][partition] = compare(`${topic}/${partition}`, there[partition]!, wanted[partition]!);
    }
  }
  return start;
}

function continued(place: string, there: RecordColumns, wanted: RecordColumns): number {
  if (isBeginning(there, 0, wanted)) return there.length;
  throw new ArchiveCopyError(
    `${load}: ${place} holds records that are not its beginning: another producer has published there, or the archive, its number of partitions or --keep-partitions were others when it was begun; ${anew}, or add to what is there with --append`,
  );
}

function appended(place: string, there: RecordColumns, wanted: RecordColumns): number {
  const { count, isFollowed } = loadedAnywhere(there, wanted);
  if (isFollowed && count < wanted.length) {
    throw new ArchiveCopyError(
      `${load}: ${place} holds the first ${count} of the ${wanted.length} records of this load, and then others: another producer has published there since it was begun; ${anew}`,
    );
  }
  const newer = newerKeys(there, wanted, count);
  if (newer === 0) return count;
  throw new ArchiveCopyError(
    `${load}: ${place} holds newer records than the archive of ${newer} of its keys, which the load would overwrite: another producer has published there since; ${anew}`,
  );
}

/** What the topic's partitions hold, each from its first offset on. */
async function readThere(
  { log, bounds }: { log: EventLog; bounds: LogBounds },
  topic: TopicName,
  signal: AbortSignal,
): Promise<RecordColumns[]> {
  const there = bounds[topic].map(() => new RecordColumns());
  const from = positionOf(bounds, ({ end }) => end);
  from[topic] = bounds[topic].map(({ low }) => low);
  await followToEnds(log, from, bounds, { signal }, async (batch) => {
    if (batch.topic !== topic) return;
    const { low, end } = bounds[topic][batch.partition]!;
    const columns = there[batch.partition]!;
    for (const record of batch.records) {
      if (record.offset >= end) break;
      columns.addGone(record.offset - low - columns.length);
      const { timestampMs, headers = [] } = record;
      columns.add({ ...record.raw(), timestampMs, headers });
    }
  });
  for (const [partition, { low, end }] of bounds[topic].entries()) {
    there[partition]!.addGone(end - low - there[partition]!.length);
  }
  return there;
}

/** What a load would publish: all of it, or as many records as the partitions hold. */
async function readWanted(source: LoadSource, topic: TopicName, upTo: readonly Bounds[] | null) {
  const wanted = Array.from({ length: source.partitions(topic) }, () => new RecordColumns());
  await loadSequence(source, topic, (record) => {
    const columns = wanted[record.partition]!;
    const bounds = upTo?.[record.partition];
    if (!bounds || columns.length < bounds.end - bounds.low) columns.add(record);
    return undefined;
  });
  return wanted;
}

const positionOf = (bounds: LogBounds, offset: (one: Bounds) => number): Position =>
  Object.fromEntries(topicNames.map((topic) => [topic, bounds[topic].map(offset)])) as Position;
