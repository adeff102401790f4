import type { EncodedRecord } from '../../../projector/ports/event-log.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { type ArchiveSources, PartitionCursor, type PartitionSource } from './partition-cursor.ts';

type Bytes = Pick<
  EncodedRecord,
  'topic' | 'partition' | 'offset' | 'timestampMs' | 'keyBytes' | 'valueBytes' | 'decoder'
>;

/** A record, and the time from which it counts. A cursor's bytes are valid until it moves on. */
export interface RecordInTime {
  readonly encoded: Bytes | null;
  readonly timeMs: number;
  /** The latest time of its partition's records up to this one. */
  readonly latestMs: number;
  readonly source: PartitionSource;
}

/** The same with a copy of its bytes, which stays valid. */
export type TimedRecord = RecordInTime & { readonly encoded: Bytes };

export function timedRecord({ encoded, timeMs, latestMs, source }: RecordInTime): TimedRecord {
  const { topic, partition, offset, timestampMs, keyBytes, valueBytes, decoder } = encoded!;
  const place = { topic, partition, offset, timestampMs };
  return {
    encoded: { ...place, decoder, keyBytes: own(keyBytes), valueBytes: own(valueBytes) },
    timeMs,
    latestMs,
    source,
  };
}

const own = (bytes: Buffer | null): Buffer | null => bytes && Buffer.from(bytes);

/** Called for each record. Returns a promise if the next one must wait. */
type Visit<Visited> = (record: Visited) => unknown;

/** Visits a topic's records: each partition in the log's order, and of several partitions the earliest record first. */
export function eachOfTopic(
  sources: ArchiveSources,
  topic: TopicName,
  signal: AbortSignal,
  visit: Visit<PartitionCursor>,
): Promise<void> {
  const partitions = sources.partitions.filter((source) => source.topic === topic);
  return merge({ ...sources, partitions }, null, Number.POSITIVE_INFINITY, signal, visit);
}

/**
 * The records of all partitions in the order of their times. Example: a record of 10:00 stands behind one of 11:00 in
 * its partition; it comes first all the same. So the records applied up to an instant are those that count at it.
 */
export class RecordsInTime {
  readonly #sources: ArchiveSources;
  /** The records out of order, with copies of their bytes. */
  readonly late: readonly RecordInTime[];

  private constructor(sources: ArchiveSources, late: RecordInTime[]) {
    this.#sources = sources;
    this.late = late.sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  /** Reads the log once; `keep` copies records out of order. Throws ArchiveError, or the signal's reason. */
  static async open(
    sources: ArchiveSources,
    signal: AbortSignal,
    keep: (cursor: PartitionCursor) => RecordInTime = timedRecord,
  ): Promise<RecordsInTime> {
    const late: RecordInTime[] = [];
    for (const partition of sources.partitions) {
      const cursor = new PartitionCursor(sources, partition);
      try {
        while (await cursor.fill()) {
          signal.throwIfAborted();
          for (; cursor.encoded !== null; cursor.step()) if (cursor.isLate) late.push(keep(cursor));
        }
      } finally {
        await cursor.close();
      }
    }
    return new RecordsInTime(sources, late);
  }

  /** Visits the records up to an instant. Of one time, those of the lower partition come first. */
  each(untilMs: number, signal: AbortSignal, visit: Visit<RecordInTime>): Promise<void> {
    return merge(this.#sources, this.late, untilMs, signal, visit);
  }
}

/** Visits all partitions' records, the earliest first. With `late`, these stand among the others; without, in their partitions. */
async function merge<Late extends RecordInTime>(
  sources: ArchiveSources,
  late: readonly Late[] | null,
  untilMs: number,
  signal: AbortSignal,
  visit: Visit<PartitionCursor | Late>,
): Promise<void> {
  const cursors = sources.partitions.map((partition) => new PartitionCursor(sources, partition, late !== null));
  try {
    // The partitions by their next records, the earliest first.
    const heads: PartitionCursor[] = [];
    for (const cursor of cursors) if (await cursor.fill()) heads.push(cursor);
    heads.sort((a, b) => (isAhead(a, b) ? -1 : 1));
    for (let at = 0; ; ) {
      const head = heads[0];
      const lateOne = late?.[at];
      const isLate = lateOne !== undefined && (!head || isBefore(lateOne, head));
      const first = isLate ? lateOne : head;
      if (!first || first.timeMs > untilMs) return;
      const busy = visit(first);
      if (busy) await busy;
      if (isLate) at++;
      else {
        head!.step();
        if (head!.encoded === null) signal.throwIfAborted();
        if (head!.encoded !== null || (await head!.fill())) moveBack(heads);
        else heads.shift();
      }
    }
  } finally {
    for (const cursor of cursors) await cursor.close();
  }
}

/** Moves the first to where it belongs. The others are in order. */
function moveBack(heads: PartitionCursor[]): void {
  const moved = heads[0]!;
  let at = 0;
  for (; at + 1 < heads.length && isAhead(heads[at + 1]!, moved); at++) heads[at] = heads[at + 1]!;
  heads[at] = moved;
}

/** Which of two partitions has its turn. */
const isAhead = (a: PartitionCursor, b: PartitionCursor): boolean =>
  a.latestMs === b.latestMs ? a.source.number < b.source.number : a.latestMs < b.latestMs;

function isBefore(a: RecordInTime, b: RecordInTime): boolean {
  if (a.timeMs !== b.timeMs) return a.timeMs < b.timeMs;
  if (a.source !== b.source) return a.source.number < b.source.number;
  return a.encoded!.offset < b.encoded!.offset;
}
