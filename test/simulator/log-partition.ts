import type { EncodedRecord } from '../../projector/ports/event-log.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import type { Change } from './world.ts';

/** A record in the log. A lost one was cut off with its partition's tail. */
export interface Published extends Change {
  offset: number;
  delivered: EncodedRecord;
}

export interface Partition {
  topic: TopicName;
  partition: number;
  /** In the order of offsets, which skip numbers after compaction. */
  records: Published[];
  end: number;
  /** Records before this offset are not lost: they were there before anything ran, or were compacted. */
  kept: number;
  /** From which offset on each leader of the partition took records, as Kafka's leader epochs say. */
  epochs: number[];
  /** A transaction that is open: where it began, and its records. What follows its beginning is hidden. */
  transaction: { from: number; records: Set<Published> } | null;
  /** When the last one ended. */
  endedMs: number;
  /** What was before is no longer hidden. */
  told: number;
}

/** Where a partition's last stable offset is: how far it can be read. */
export const stableEnd = ({ transaction, end }: Partition): number => transaction?.from ?? end;

export const emptyPartition = () => ({
  end: 0,
  epochs: [0],
  transaction: null,
  endedMs: Number.NEGATIVE_INFINITY,
  told: 0,
});

export const epochAt = ({ epochs }: Partition, offset: number): number =>
  epochs.findLastIndex((start) => start <= offset);

/** A fetch says where the reader stands, and of which epoch the last record was that it read. */
export function hasDiverged(partition: Partition, at: number, epoch: number | undefined): boolean {
  const isHeld = at <= partition.end && (epoch === undefined || epochAt(partition, at - 1) === epoch);
  return at !== 0 && !isHeld;
}
