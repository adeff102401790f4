import type { EventLog, LogBatch, LogBounds, Position } from '../ports/event-log.ts';
import { partitionsBehind, positionOf } from '../position/position.ts';
import { Stop } from '../running/stop.ts';

/** Follows a log from a position until every partition has reached its end. Throws the signal's reason. */
export async function followToEnds(
  log: Pick<EventLog, 'follow'>,
  from: Position,
  bounds: LogBounds,
  signal: AbortSignal,
  onBatch: (batch: LogBatch) => void | Promise<void>,
): Promise<void> {
  const ends = positionOf(bounds, 'end');
  const position = structuredClone(from);
  const isThere = () => partitionsBehind(position, ends).length === 0;
  if (isThere()) return;
  const arrived = new Stop([signal]);
  const follower = {
    onBatch: async (batch: LogBatch) => {
      await onBatch(batch);
      position[batch.topic][batch.partition] = batch.nextOffset;
      if (isThere()) arrived.stop();
    },
  };
  await log.follow(from, follower, arrived.signal).finally(() => arrived.end());
  signal.throwIfAborted();
}
