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
 * time ends a version too. Its keys, and two numbers for each record, are in memory.
 */
export async function eachVersion(
  sources: PastSources,
  topic: ExportedTopic,
  { atMs, signal }: VersionOptions,
  take: (version: TopicVersion) => void,
): Promise<void> {
  const counts = (cursor: PartitionCursor): boolean => cursor.timeMs <= atMs && isGoodAt(cursor);
  const keys = new Interner();
  /** By record: the number of its key, and its time. */
  const [keyOf, times]: [number[], number[]] = [[], []];
  /** By the numbers of nights' keys: whether the last version with a meeting is secret. */
  const secret = new Map<number, boolean>();
  await eachOfTopic(sources, topic, signal, (cursor) => {
    if (!counts(cursor)) return;
    const { keyBytes } = cursor.encoded!;
    const key = keys.addBytes(keyBytes!, 0, keyBytes!.length);
    keyOf.push(key);
    times.push(cursor.timeMs);
    const meeting = topic === 'nights' && meetingIn(cursor.record as LogRecord);
    if (meeting) secret.set(key, meeting.secret);
  });
  const ends = endsOf(keyOf, times);
  let i = 0;
  await eachOfTopic(sources, topic, signal, (cursor) => {
    if (!counts(cursor)) return;
    const record = cursor.record as LogRecord;
    const toMs = ends[i] === Number.POSITIVE_INFINITY ? null : ends[i]!;
    const isSecret = topic === 'nights' && (secret.get(keyOf[i]!) || (meetingIn(record)?.secret ?? false));
    take({ record, fromMs: cursor.timeMs, toMs, isSecret });
    i++;
  });
}

const meetingIn = ({ value }: LogRecord) => (value as Night | null)?.meeting;

/** When each record's version ends: at the earliest time of the versions behind it. Infinity: it is in force. */
function endsOf(keyOf: readonly number[], times: readonly number[]): number[] {
  const ends = [...times];
  const next = new Map<number, number>();
  for (let i = times.length - 1; i >= 0; i--) {
    const behind = next.get(keyOf[i]!) ?? Number.POSITIVE_INFINITY;
    ends[i] = Math.max(times[i]!, behind);
    next.set(keyOf[i]!, Math.min(times[i]!, behind));
  }
  return ends;
}
