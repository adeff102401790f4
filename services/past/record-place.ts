import { instantText } from './past-time.ts';
import type { TimedRecord } from './records-in-time.ts';

/** Where a record is in the log, and when it was; nothing of what it says. */
export interface RecordPlace {
  topic: string;
  partition: number;
  offset: number;
  key: string | null;
  timestamp: string | null;
  changed_at: string | null;
  /** The entity is gone. */
  tombstone: boolean;
}

export function placeOf({ bytes, key, value }: TimedRecord): RecordPlace {
  const { topic, partition, offset, timestampMs } = bytes;
  return {
    topic,
    partition,
    offset,
    key,
    timestamp: instantText(timestampMs),
    changed_at: value && instantText(Number(value.changed_at)),
    tombstone: value === null,
  };
}

export function placeText({ topic, partition, offset, key, tombstone }: RecordPlace): string {
  return `${topic}/${partition}@${offset} ${key}${tombstone ? ' (deleted)' : ''}`;
}
