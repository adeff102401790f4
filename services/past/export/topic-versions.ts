import { Interner } from '../../../projector/facts/interner.ts';
import type { LogRecord } from '../../../projector/ports/decoded-record.ts';
import type { Night } from '../../../schemas/events/records.ts';
import { eachOfTopic, isGoodAt } from '../log/past-fold.ts';
import type { PartitionCursor, PastSources } from '../log/past-records.ts';
import type { ExportedTopic } from './log-tables.ts';

/** A good record as a version of its key. */
export interface TopicVersion {
  record: LogRecord;
  fromMs: number;
  /** When the next version replaced it. Null: it is in force. A version that never counted ends when it begins. */
  toMs: number | null;
  /** Whether the night's meeting is secret in its last version. Then its place is secret in all versions. */
  isSecret: boolean;
}

interface VersionOptions {
  /** Later records do not count. */
  atMs: number;
  signal: AbortSignal;
}

/**
 * Every version of a topic's keys, in the log's order. The topic is read twice, because a later record with an earlier
 * time ends a version too. The first pass keeps the times, 16 bytes a record.
 */
export async function eachVersion(
  sources: PastSources,
  topic: ExportedTopic,
  { atMs, signal }: VersionOptions,
  take: (version: TopicVersion) => void,
): Promise<void> {
  const counts = (cursor: PartitionCursor): boolean => cursor.timeMs <= atMs && isGoodAt(cursor);
  const times = new Times();
  await eachOfTopic(sources, topic, signal, (cursor) => {
    if (counts(cursor)) times.add(cursor.record as LogRecord, cursor.timeMs);
  });
  times.settle();
  let i = 0;
  await eachOfTopic(sources, topic, signal, (cursor) => {
    if (!counts(cursor)) return;
    const record = cursor.record as LogRecord;
    take({ record, fromMs: cursor.timeMs, toMs: times.endOf(i), isSecret: times.isSecret(i) || isSecret(record) });
    i++;
  });
}

const isSecret = ({ topic, value }: LogRecord): boolean =>
  topic === 'nights' && ((value as Night | null)?.meeting?.secret ?? false);

/** When each record's version ends. */
class Times {
  readonly #keys = new Interner();
  /** By record: the number of its key, and its time. */
  readonly #numbers: number[] = [];
  readonly #times: number[] = [];
  /** By key: whether the last night with a meeting is secret. */
  readonly #secret: boolean[] = [];

  add(record: LogRecord, timeMs: number): void {
    const key = this.#keys.add(record.key);
    this.#numbers.push(key);
    this.#times.push(timeMs);
    if (record.topic !== 'nights' || record.value === null) return;
    if ((record.value as Night).meeting) this.#secret[key] = isSecret(record);
  }

  /** Computes ends from times, the last record first. A version ends at the earliest time of the versions behind it. */
  settle(): void {
    const next = new Float64Array(this.#numbers.length).fill(Number.POSITIVE_INFINITY);
    for (let i = this.#times.length - 1; i >= 0; i--) {
      const key = this.#numbers[i]!;
      const from = this.#times[i]!;
      this.#times[i] = Math.max(from, next[key]!);
      next[key] = Math.min(from, next[key]!);
    }
  }

  endOf(i: number): number | null {
    const end = this.#times[i]!;
    return end === Number.POSITIVE_INFINITY ? null : end;
  }

  isSecret(i: number): boolean {
    return this.#secret[this.#numbers[i]!] ?? false;
  }
}
