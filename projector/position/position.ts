import { byTopic, type TopicName, topicNames } from '../../schemas/events/records.ts';
import { type LogBounds, PartitionsChangedError, type Position } from '../ports/event-log.ts';
import type { StoredPosition } from './settled-position.ts';

export const positionOf = (bounds: LogBounds, edge: 'low' | 'end'): Position =>
  byTopic((topic) => bounds[topic].map((partition) => partition[edge]));

export const copyPosition = (position: Position): Position => byTopic((topic) => [...position[topic]]);

/** Whether no partition of one position is beyond the other. */
export const isWithin = (position: Position, limit: Position): boolean =>
  topicNames.every(
    (topic) =>
      position[topic].length === limit[topic].length &&
      position[topic].every((offset, partition) => offset <= limit[topic][partition]!),
  );

/** How many offsets are below a position, in all partitions together. */
export const offsetsBelow = (position: Position): number =>
  topicNames.flatMap((topic) => position[topic]).reduce((a, b) => a + b, 0);

/** How far all of some positions have got: the least of them in each partition. Null of none. */
export function reachedByAll(positions: readonly StoredPosition[]): Position | null {
  const [first] = positions;
  if (!first) return null;
  const least = (topic: TopicName, partition: number): number =>
    Math.min(...positions.map(({ position }) => position[topic][partition] ?? 0));
  return byTopic((topic) => first.position[topic].map((_, partition) => least(topic, partition)));
}

/**
 * Throws PartitionsChangedError if a topic's number of partitions differs from that in the stored position. A position of
 * another log is ignored.
 */
export function assertSamePartitions(stored: StoredPosition, log: string | null, bounds: LogBounds): void {
  if (log === null || stored.log !== log) return;
  const before = stored.position;
  for (const topic of topicNames) {
    if (before[topic].length === bounds[topic].length) continue;
    throw PartitionsChangedError.withAdvice(
      `Cannot go on with topic ${topic}: it had ${before[topic].length} partitions when the views were written, and has ${bounds[topic].length}`,
    );
  }
}

/**
 * The partitions of which records were deleted, all below an offset (docs/rules.md#deleted-records): where the log begins later
 * than it did for any of some folds.
 */
export const deletedSince = (folds: readonly { begin?: Position }[], low: Position) =>
  topicNames.flatMap((topic) =>
    low[topic].flatMap((below, partition) =>
      folds.some(({ begin }) => (begin?.[topic][partition] ?? below) < below) ? [{ topic, partition, below }] : [],
    ),
  );

/** The same in words; null: nothing was deleted. */
export function deletedWords(folds: readonly { begin?: Position }[], low: Position): string | null {
  const places = deletedSince(folds, low).map((one) => `${one.topic}/${one.partition} below offset ${one.below}`);
  return places.length > 0 ? `records were deleted from the log: ${places.join(', ')}` : null;
}

/** Partitions, as `topic/partition`, that have not reached a position. */
export function partitionsBehind(position: Position, target: Position): string[] {
  return topicNames.flatMap((topic: TopicName) =>
    target[topic].flatMap((end, partition) =>
      (position[topic][partition] ?? 0) < end ? [`${topic}/${partition}`] : [],
    ),
  );
}
