import { setImmediate } from 'node:timers/promises';
import {
  type EncodedRecord,
  type EventLog,
  type Follower,
  type LogBounds,
  LogTruncatedError,
  PartitionsChangedError,
  type Position,
} from '../../../projector/ports/event-log.ts';
import { Stop, wait } from '../../../projector/running/stop.ts';
import { defaultTopicPrefix, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { type ArchiveListing, listArchive } from '../format/archive-files.ts';
import { archiveBounds } from './archive-bounds.ts';
import { recordsWithin } from './archive-partition.ts';

export interface ArchiveEventLogOptions {
  /** Contains `<prefix><topic>/<partition>-<first offset>.avro`. */
  dir: string;
  prefix?: string;
  /** What names the folder, for messages. ARCHIVE_DIR by default. */
  named?: string;
  log?: { warn(message: string): void };
}

/** A partition delivers at most this many batches before the others get their turn. */
const batchesPerTurn = 64;

/**
 * The event log from an archive, as it is when it is first asked (docs/rules.md#archive-read). Records that are added
 * later are not read. Throws ArchiveError for faults of its files, with file, byte and fix.
 */
export function archiveEventLog(options: ArchiveEventLogOptions): EventLog {
  const { dir, prefix = defaultTopicPrefix, named = 'ARCHIVE_DIR', log } = options;
  const closed = new Stop();
  let opened: Promise<{ listing: ArchiveListing; bounds: LogBounds }> | null = null;

  async function open() {
    const listing = listArchive(dir, prefix, named);
    return { listing, bounds: await archiveBounds({ dir, prefix, listing }, (message) => log?.warn(message)) };
  }

  async function follow(from: Position, follower: Follower, signal: AbortSignal): Promise<void> {
    opened ??= open();
    const { listing, bounds } = await opened;
    checkPosition(from, bounds);
    const stop = new Stop([signal, closed.signal]);
    const partitions = topicNames.flatMap((topic) =>
      bounds[topic].map(({ end }, partition): ReadPartition => {
        const low = from[topic][partition]!;
        const batches = recordsWithin({ topic, partition }, listing[topic][partition]!, { low, end });
        return { topic, partition, batches, next: low, held: null };
      }),
    );
    try {
      while (!stop.signal.aborted) {
        let progressed = false;
        const holds: Promise<void>[] = [];
        for (const read of partitions) if (await deliver(read, follower, holds, stop.signal)) progressed = true;
        if (!progressed) await wait(stop.signal, ...holds);
      }
    } finally {
      stop.end();
      for (const { batches } of partitions) await batches.return();
    }
  }

  return {
    async bounds() {
      opened ??= open();
      return structuredClone((await opened).bounds);
    },
    follow,
    close: async () => closed.end(),
  };
}

interface ReadPartition {
  topic: TopicName;
  partition: number;
  batches: AsyncGenerator<EncodedRecord[], void>;
  /** The offset after what was handed over. */
  next: number;
  /** Records that were read and may not be handed over yet. */
  held: EncodedRecord[] | null;
}

/**
 * Hands over what a partition has, at most a turn's batches. False if it had nothing, or is held. If it is held, it
 * adds the promise that it waits for to `holds`.
 */
async function deliver(
  from: ReadPartition,
  follower: Follower,
  holds: Promise<void>[],
  stop: AbortSignal,
): Promise<boolean> {
  const { topic, partition, batches } = from;
  for (let count = 0; count < batchesPerTurn; count++) {
    if (stop.aborted) return true;
    const batch = from.held ?? (await batches.next()).value;
    if (!batch) return count > 0;
    const afterBatch = batch.at(-1)!.offset + 1;
    const hold = follower.hold?.(topic, partition) ?? null;
    const held = hold && hold.offset < afterBatch ? hold : null;
    const records = held ? batch.filter(({ offset }) => offset < held.offset) : batch;
    const nextOffset = held?.offset ?? afterBatch;
    from.held = held && batch.slice(records.length);
    const moves = nextOffset > from.next;
    if (moves) {
      from.next = nextOffset;
      await follower.onBatch({ topic, partition, records, nextOffset });
    }
    if (held) {
      holds.push(held.moved);
      return moves;
    }
    // Timers and sockets get their turn, however long the archive is.
    await setImmediate();
  }
  return true;
}

function checkPosition(from: Position, bounds: LogBounds): void {
  for (const topic of topicNames) {
    const [had, has] = [from[topic].length, bounds[topic].length];
    if (had !== has)
      throw new PartitionsChangedError(
        `${topic} has ${has} partitions in the archive, and had ${had}: a key may now be in two partitions, so read it again from its start`,
      );
    for (const [partition, { low, end }] of bounds[topic].entries()) {
      const next = from[topic][partition]!;
      if (next >= low && next <= end) continue;
      throw new LogTruncatedError(
        `Cannot read ${topic}/${partition} of the archive from offset ${next}: it holds ${low} to ${end - 1}`,
      );
    }
  }
}
