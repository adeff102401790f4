import type { Position } from '../../../projector/ports/event-log.ts';
import { byTopic, type TopicName } from '../../../schemas/events/records.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import type { HistoryRecord } from '../worlds/histories.ts';
import { MemoryEventLog } from './memory-event-log.ts';

/** A position in a log of one partition a topic: at its start, but for these topics. */
export const positionAt = (some: Partial<Record<TopicName, number>> = {}): Position =>
  byTopic((topic) => [some[topic] ?? 0]);

/** Records one after another in the one partition of their topics. */
export function placed(records: readonly LoggedRecord[]): HistoryRecord[] {
  const next = byTopic(() => 0);
  return records.map((record) => ({ ...record, partition: 0, offset: next[record.topic]++, timestampMs: 0 }));
}

/** A log with one partition a topic. */
export const logOf = (records: readonly LoggedRecord[] = []): MemoryEventLog =>
  new MemoryEventLog({ partitions: byTopic(() => 1), records: placed(records) });
