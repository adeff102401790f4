import { archiveRejectSink } from '../../infra/archive/archive-reject-sink.ts';
import { type ArchiveWriter, archiveWriter } from '../../infra/archive/archive-writer.ts';
import {
  decoded,
  type EventLog,
  type LogBatch,
  type LogBounds,
  type Position,
  type Reject,
  type RejectSink,
} from '../../projector/ports/event-log.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { ArchiveCopyError, BadRecords, type CopyOptions, type CopyResult, followToEnds } from './archive-copy.ts';

/**
 * Saves a log, up to its ends as they are now, as an archive: partitions, offsets and timestamps are kept. `rejected`
 * are the log's bad records so far; records that can't be decoded join them, each once. An archive that holds an earlier
 * part of the same log is gone on with. Throws the signal's reason.
 */
export async function archiveSave(
  log: EventLog,
  rejected: AsyncIterable<Reject> | Iterable<Reject>,
  dir: string,
  options: CopyOptions,
): Promise<CopyResult> {
  const bounds = await log.bounds();
  const writer = archiveWriter({ dir, codec: 'deflate' });
  const rejects = archiveRejectSink({ dir, ...(options.log && { log: options.log }) });
  const result: CopyResult = { records: 0, rejected: 0 };
  const bad = new BadRecords();
  try {
    const from = beginPartitions(writer, bounds);
    await followToEnds(log, from, bounds, options, (batch) => saveBatch(batch, bounds, writer, rejects, result, bad));
    for await (const reject of rejected) {
      await rejects.publish([reject]);
      bad.add(reject);
    }
    result.rejected = bad.size;
  } finally {
    await writer.close();
    await rejects.close();
  }
  return result;
}

/** Makes every partition, also the empty ones, and answers where the archive ends in each. */
function beginPartitions(writer: ArchiveWriter, bounds: LogBounds): Position {
  const from: Partial<Position> = {};
  for (const topic of topicNames) {
    from[topic] = bounds[topic].map(({ low, end }, partition) => {
      writer.addPartition(topic, partition, low);
      const next = writer.nextOffset(topic, partition);
      if (next === null) return low;
      if (next >= low && next <= end) return next;
      throw new ArchiveCopyError(
        `Cannot save to the archive: its ${topic}/${partition} goes on to offset ${next - 1}, the log holds ${low} to ${end - 1}; it is no archive of this log, or too old to go on with: save to an empty folder`,
      );
    });
  }
  return from as Position;
}

async function saveBatch(
  batch: LogBatch,
  bounds: LogBounds,
  writer: ArchiveWriter,
  rejects: RejectSink,
  result: CopyResult,
  places: BadRecords,
): Promise<void> {
  const { topic, partition, records } = batch;
  const { end } = bounds[topic][partition]!;
  const bad: Reject[] = [];
  for (const one of records) {
    if (one.offset >= end) break;
    const record = decoded(one);
    result.records++;
    if ('undecodable' in record) {
      const { offset, timestampMs, undecodable } = record;
      bad.push({ topic, partition, offset, timestampMs, reason: undecodable, raw: record.raw() });
    } else writer.append(topic, record);
  }
  for (const reject of bad) places.add(reject);
  await rejects.publish(bad);
}
