import type { Fold } from '../../projector/facts/fold.ts';
import type { LogRecord } from '../../projector/ports/decoded-record.ts';
import { recordKey } from '../../schemas/events/record-keys.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { isGoodAt } from './past-fold.ts';
import { PartitionCursor, type PastRecord, type PastSources } from './past-records.ts';

/** A record and when it counts from. */
export interface TimedRecord {
  record: PastRecord;
  /** Whether it is one that a fold accepts. */
  isGood: boolean;
  timeMs: number;
  /** The latest time up to it in its partition. */
  latestMs: number;
  /** Which of the partitions it is in, by their order. */
  source: number;
}

/** Records between two looks at the signal. */
const turnRecords = 4_096;

/**
 * The records of all partitions in the order of their times. A record that stands behind one of a later time comes in
 * its own time all the same, so what was applied up to an instant is what counts at it.
 */
export class RecordsInTime {
  readonly #sources: PastSources;
  readonly #late: readonly TimedRecord[];
  /** Topics that have records out of order. */
  readonly lateTopics: ReadonlySet<TopicName>;

  private constructor(sources: PastSources, late: TimedRecord[]) {
    this.#sources = sources;
    this.#late = late.sort(compareTimed);
    this.lateTopics = new Set(late.map(({ record }) => record.topic));
  }

  /** Reads the log once, for what is out of order: that is kept in memory. Throws ArchiveError, or the signal's reason. */
  static async open(sources: PastSources, signal: AbortSignal): Promise<RecordsInTime> {
    const late: TimedRecord[] = [];
    for (const [source, partition] of sources.partitions.entries()) {
      const cursor = new PartitionCursor(sources, partition);
      try {
        while (await cursor.fill()) {
          signal.throwIfAborted();
          for (; cursor.encoded !== null; cursor.step()) if (cursor.isLate) late.push(timedOf(cursor, source));
        }
      } finally {
        await cursor.close();
      }
    }
    return new RecordsInTime(sources, late);
  }

  /** Records that share a time, one group after the other, up to an instant. */
  async *groups(untilMs: number, signal: AbortSignal): AsyncGenerator<TimedRecord[]> {
    let group: TimedRecord[] = [];
    let read = 0;
    for await (const timed of this.#records()) {
      if (timed.timeMs > untilMs) break;
      if (group.length > 0 && group[0]!.timeMs !== timed.timeMs) {
        yield group;
        group = [];
      }
      group.push(timed);
      if (++read % turnRecords === 0) signal.throwIfAborted();
    }
    if (group.length > 0) yield group;
  }

  async *#records(): AsyncGenerator<TimedRecord> {
    const cursors = this.#sources.partitions.map((partition) => new PartitionCursor(this.#sources, partition));
    const heads: (TimedRecord | null)[] = [];
    try {
      for (const [source, cursor] of cursors.entries()) heads.push(await nextInOrder(cursor, source));
      for (let late = 0; ; ) {
        let first: TimedRecord | null = this.#late[late] ?? null;
        for (const head of heads) if (head && (first === null || compareTimed(head, first) < 0)) first = head;
        if (first === null) return;
        const { source } = first;
        if (first === this.#late[late]) late++;
        else {
          cursors[source]!.step();
          heads[source] = await nextInOrder(cursors[source]!, source);
        }
        yield first;
      }
    } finally {
      for (const cursor of cursors) await cursor.close();
    }
  }
}

const timedOf = (cursor: PartitionCursor, source: number): TimedRecord => ({
  record: cursor.record!,
  isGood: isGoodAt(cursor),
  timeMs: cursor.timeMs,
  latestMs: cursor.latestMs,
  source,
});

const compareTimed = (a: TimedRecord, b: TimedRecord): number =>
  a.timeMs - b.timeMs || a.source - b.source || a.record.offset - b.record.offset;

/** The next record that is not out of order; null at the end. */
async function nextInOrder(cursor: PartitionCursor, source: number): Promise<TimedRecord | null> {
  for (;;) {
    if (cursor.encoded === null && !(await cursor.fill())) return null;
    if (!cursor.isLate) return timedOf(cursor, source);
    cursor.step();
  }
}

/** Folds records in the order of their times, and comes to the same facts as a fold in the log's order. */
export class FoldInTime {
  readonly #fold: Fold;
  readonly #lateTopics: ReadonlySet<TopicName>;
  /** Of each key of a topic with records out of order, the one that counts. */
  readonly #last = new Map<string, TimedRecord>();

  constructor(fold: Fold, { lateTopics }: RecordsInTime) {
    this.#fold = fold;
    this.#lateTopics = lateTopics;
  }

  /** Whether the record counts: it is good, and no later one of its key was there before its time. */
  take(timed: TimedRecord): boolean {
    if (!timed.isGood) return false;
    const { topic, key, value } = timed.record as LogRecord;
    if (this.#isSuperseded(timed, key)) return false;
    this.#fold.apply(topic, recordKey(topic, key), value as never);
    return true;
  }

  #isSuperseded(timed: TimedRecord, recordKey: string): boolean {
    const { topic } = timed.record;
    if (!this.#lateTopics.has(topic)) return false;
    const key = `${topic} ${recordKey}`;
    const last = this.#last.get(key);
    if (last && compareRank(timed, last) < 0) return true;
    // Its value is not needed any more.
    this.#last.set(key, { ...timed, record: { ...timed.record, value: null } as PastRecord });
    return false;
  }
}

/** Which of two records of a key counts: in a partition the last, of several partitions the one of the latest time. */
const compareRank = (a: TimedRecord, b: TimedRecord): number =>
  a.source === b.source ? a.record.offset - b.record.offset : a.latestMs - b.latestMs || a.source - b.source;
