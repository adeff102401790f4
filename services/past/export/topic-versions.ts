import type { ArchiveSources, PartitionCursor } from '../../../infra/archive/log/partition-cursor.ts';
import { eachOfTopic } from '../../../infra/archive/log/records-in-time.ts';
import type { LogRecord } from '../../../projector/ports/decoded-record.ts';
import type { Night } from '../../../schemas/events/records.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { closing } from '../../cli/closing.ts';
import { GroupedLines } from '../log/grouped-lines.ts';
import { isGoodAt } from '../log/past-fold.ts';
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

/**
 * Every version of a topic's keys, in the log's order. The topic is read twice, because a later record with an earlier
 * time ends a version too; those after `atMs` do not count. When each version ends, 8 bytes a record, is in memory; keys are not.
 */
export async function eachVersion(
  sources: ArchiveSources,
  topic: ExportedTopic,
  { atMs, signal }: { atMs: number; signal: AbortSignal },
  take: (version: TopicVersion) => void,
): Promise<void> {
  const counts = (cursor: PartitionCursor): boolean => cursor.timeMs <= atMs && isGoodAt(cursor);
  const times = new Times();
  /** By key of a night: whether its last version with a meeting is secret. */
  const secrets = new Map<string, boolean>();
  const ends = await closing([times], async () => {
    await eachOfTopic(sources, topic, signal, (cursor) => {
      if (!counts(cursor)) return;
      times.add(cursor.encoded!.keyBytes!.toString(), cursor.timeMs);
      const { key, value } = cursor.record as LogRecord;
      const meeting = topic === 'nights' && (value as Night | null)?.meeting;
      if (meeting) secrets.set(key, meeting.secret);
    });
    return times.ends();
  });
  let i = 0;
  await eachOfTopic(sources, topic, signal, (cursor) => {
    if (!counts(cursor)) return;
    const record = cursor.record as LogRecord;
    const end = ends[i++]!;
    const toMs = end === Number.POSITIVE_INFINITY ? null : end;
    const isSecret = secrets.get(record.key) || (topic === 'nights' && (record.value as Night | null)?.meeting?.secret);
    take({ record, fromMs: cursor.timeMs, toMs, isSecret: isSecret === true });
  });
}

/** The times of versions: by groups of keys, so that one group's keys are in memory at once. */
class Times {
  readonly #lines = new GroupedLines();
  readonly #groups = allTags.map(() => this.#lines.group());
  #count = 0;

  /** Adds the next record. */
  add(key: string, timeMs: number): void {
    this.#lines.add(`${this.#count++} ${timeMs} ${key}`, [this.#groups[tagOf(key)]!]);
  }

  /** When each record's version ends: at the earliest time of the versions behind it. Infinity: it is in force. */
  ends(): Float64Array {
    const ends = new Float64Array(this.#count);
    for (const group of this.#groups) {
      const next = new Map<string, number>();
      for (const line of [...this.#lines.of(group)].reverse()) {
        const [i, time] = line.split(' ', 2) as [string, string];
        const key = line.slice(i.length + time.length + 2);
        const behind = next.get(key) ?? Number.POSITIVE_INFINITY;
        ends[Number(i)] = Math.max(Number(time), behind);
        next.set(key, Math.min(Number(time), behind));
      }
    }
    return ends;
  }

  close(): void {
    this.#lines.close();
  }
}
