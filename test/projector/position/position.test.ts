import { expect, it } from 'vitest';
import { type LogBounds, PartitionsChangedError } from '../../../projector/ports/event-log.ts';
import { assertSamePartitions, isWithin, reachedByAll } from '../../../projector/position/position.ts';
import type { StoredPosition } from '../../../projector/position/settled-position.ts';
import { byTopic } from '../../../schemas/events/records.ts';

const bounds = (partitions: number): LogBounds =>
  byTopic(() => Array.from({ length: partitions }, () => ({ low: 0, end: 9 })));
const stored = (partitions: number, log: string): StoredPosition => ({
  position: byTopic(() => new Array(partitions).fill(5)),
  log,
  sum: '',
  fanOuts: [],
});

// docs/rules.md#partition-growth
it('a topic that grew while no projector ran is noticed from the stored position; another log is nothing to stop for', () => {
  const grown = () => assertSamePartitions(stored(4, 'a'), 'a', bounds(6));
  expect(grown).toThrow(PartitionsChangedError);
  expect(grown).toThrow(/KAFKA_TOPIC_PREFIX/);
  assertSamePartitions(stored(4, 'a'), 'a', bounds(4));
  assertSamePartitions(stored(4, 'a'), 'b', bounds(6));
  assertSamePartitions({ ...stored(4, 'a'), log: null }, null, bounds(6));
});

it('what all of some positions have reached is the least of them in each partition', () => {
  const [one, other] = [stored(2, 'a'), stored(2, 'a')];
  other.position.rides = [3, 9];
  expect(reachedByAll([one, other])).toEqual({ ...one.position, rides: [3, 5] });
  expect(reachedByAll([other, one])).toEqual({ ...one.position, rides: [3, 5] });
  other.position.rides = [9];
  expect(reachedByAll([one, other])).toEqual({ ...one.position, rides: [5, 0] });
  expect(reachedByAll([])).toBeNull();
});

it('a position is within another one where no partition is beyond it, and both know the same ones', () => {
  const { position } = stored(2, 'a');
  const within = (rides: number[], nights = [5, 5]) => isWithin({ ...position, rides, nights }, position);
  expect(within([5, 5])).toBe(true);
  expect(within([5, 4])).toBe(true);
  expect(within([4, 6])).toBe(false);
  expect(within([5, 5], [6, 5])).toBe(false);
  expect(within([5])).toBe(false);
});
