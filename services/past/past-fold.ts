import type { Facts } from '../../projector/facts/facts.ts';
import { Fold } from '../../projector/facts/fold.ts';
import { Validator } from '../../projector/facts/validator.ts';
import type { EncodedRecord } from '../../projector/ports/event-log.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { PartitionCursor, type PartitionSource, type PastSources } from './past-records.ts';

/** What was folded, and up to where in each partition. */
export interface FoldedPast extends Pick<Tally, 'records' | 'bad' | 'outOfOrder' | 'offsets'> {
  facts: Facts;
}

/** Counts what a fold of the past takes, by partition. */
class Tally {
  /** For each partition, one more than the offset of the last record that counts. */
  readonly offsets = {} as Record<TopicName, number[]>;
  /** Good records that count. */
  records = 0;
  /** Records that count, but are bad. */
  bad = 0;
  /** Records below the offsets whose time is earlier than that of a record before them in their partition. */
  outOfOrder = 0;
  /**
   * Late records after the last one that counts. They are below the offsets only if a record that counts follows them.
   */
  readonly #late = new Map<PartitionCursor, number>();

  begin({ topic, partition, low }: PartitionSource): void {
    this.offsets[topic] ??= [];
    this.offsets[topic][partition] = low;
  }

  take(cursor: PartitionCursor, counts: boolean): void {
    if (cursor.isLate) this.#late.set(cursor, (this.#late.get(cursor) ?? 0) + 1);
    if (!counts) return;
    const { topic, partition } = cursor.source;
    this.offsets[topic][partition] = cursor.encoded!.offset + 1;
    this.outOfOrder += this.#late.get(cursor) ?? 0;
    this.#late.delete(cursor);
  }

  used(isGood: boolean): void {
    if (isGood) this.records++;
    else this.bad++;
  }
}

/** After this many records, the progress is reported. */
const turnRecords = 10_000;

interface FoldPastOptions {
  /** Records with a later time do not count. */
  atMs: number;
  signal: AbortSignal;
  onProgress?(records: number): void;
}

/** Called for each record, with the cursor on it. Returns a promise if the next record must wait. */
type Visit = (cursor: PartitionCursor) => unknown;

/**
 * Folds the records whose time is at or before an instant. For each key the last record in its partition wins, whatever
 * its time. If a key is in several partitions, the record with the latest time wins, so the same records give the same
 * facts however they are divided. Throws the signal's reason.
 */
export async function foldPast(sources: PastSources, options: FoldPastOptions): Promise<FoldedPast> {
  const fold = new Fold();
  const tally = new Tally();
  let read = 0;
  for (const source of sources.partitions) tally.begin(source);
  for (const topic of topicNames) {
    await eachOfTopic(sources, topic, options.signal, (cursor) => {
      if (++read % turnRecords === 0) options.onProgress?.(read);
      const counts = cursor.timeMs <= options.atMs;
      tally.take(cursor, counts);
      if (counts) tally.used(applyIfGood(fold, cursor.encoded!));
    });
  }
  const { records, bad, outOfOrder, offsets } = tally;
  return { facts: fold.facts, records, bad, outOfOrder, offsets };
}

const validator = new Validator();

function applyIfGood(fold: Fold, record: EncodedRecord): boolean {
  if (validator.validate(record) !== null) return false;
  fold.apply(record.topic, validator.key, validator.value as never);
  return true;
}

/** Whether the record that a cursor is on is one that a fold accepts. */
export const isGoodAt = ({ encoded }: PartitionCursor): boolean => validator.validate(encoded!) === null;

/** Visits a topic's records: each partition in the log's order, and of several partitions the earliest record first. */
export async function eachOfTopic(
  sources: PastSources,
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

/** Visits records, the earliest first, until a partition has none loaded. With equal times the lower partition comes first. */
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
