import { type TopicName, topicNames } from '../schemas/records.ts';
import type { LogBounds, Position } from './event-log.ts';

export function positionOf(bounds: LogBounds, edge: 'low' | 'end'): Position {
  const position = {} as Position;
  for (const topic of topicNames) position[topic] = bounds[topic].map((partition) => partition[edge]);
  return position;
}

export function copyPosition(position: Position): Position {
  const copy = {} as Position;
  for (const topic of topicNames) copy[topic] = [...position[topic]];
  return copy;
}

/** Partitions, as `topic/partition`, that are still before a position. */
export function behind(position: Position, target: Position): string[] {
  return topicNames.flatMap((topic: TopicName) =>
    target[topic].flatMap((end, partition) =>
      (position[topic][partition] ?? 0) < end ? [`${topic}/${partition}`] : [],
    ),
  );
}
