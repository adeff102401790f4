import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LogBounds, PartitionsChangedError, type Position } from '../../../projector/ports/event-log.ts';
import {
  assertSamePartitions,
  isWithin,
  partitionsBehind,
  reachedByAll,
} from '../../../projector/position/position.ts';
import {
  type Barrier,
  PositionBarriers,
  parseStoredPosition,
  readableOf,
  type StoredPosition,
} from '../../../projector/position/settled-position.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { positionAt } from '../../support/stores/placed-log.ts';

const stored = { log: 'l', position: positionAt(), sum: '0', fanOuts: [['r1', [3]]] };

describe('a stored position', () => {
  it.each([
    ['is read as it was written', JSON.stringify(stored), stored],
    ['that is absent is as none', null, null],
    ['that is no JSON is as none', 'x', null],
    ['that lacks a topic is as none', JSON.stringify({ ...stored, position: { rides: [0] } }), null],
    ['that lacks the sum is as none', JSON.stringify({ ...stored, sum: undefined }), null],
  ])('%s', (_, text, position) => {
    expect(parseStoredPosition(text)).toEqual(position);
  });
});

describe('what is readable', () => {
  const text = (riders: number, more: Partial<StoredPosition> = {}) =>
    JSON.stringify({ ...stored, position: positionAt({ riders, rides: 9 - riders }), ...more });

  it('is the furthest of what positions beside views say, in each partition', () => {
    expect(readableOf([text(3), null, 'x', text(7), text(5)], 'l')).toEqual(positionAt({ riders: 7, rides: 6 }));
    const behind = text(8, { readable: positionAt({ riders: 2, rides: 3 }) });
    expect(readableOf([behind], 'l')).toEqual(positionAt({ riders: 2, rides: 3 }));
    expect(readableOf([text(8, { readable: null }), text(4)], 'l')).toEqual(positionAt({ riders: 4, rides: 5 }));
    expect(readableOf([text(8, { readable: null })], 'l')).toBeNull();
    const [narrow, wide] = [
      { ...positionAt(), rides: [1] },
      { ...positionAt(), rides: [0, 6] },
    ];
    const both = [text(0, { position: wide }), text(0, { position: narrow })];
    expect(readableOf(both, 'l')).toEqual({ ...wide, rides: [1, 6] });
  });

  it('is not known without positions, and refused where all are of another log', () => {
    for (const none of [null, [], [null, 'x']]) expect(readableOf(none, 'l')).toBeNull();
    expect(readableOf([text(3), text(7, { log: 'other' })], 'l')).toEqual(positionAt({ riders: 3, rides: 6 }));
    expect(() => readableOf([text(7, { log: 'other' })], 'l')).toThrow(
      /^Cannot say what is readable: the views are of an/,
    );
  });
});

const at = (riders: number): Position => positionAt({ riders });
const offsetOf = (position: Position): number => position.riders[0]!;

describe('position barriers', () => {
  it('keep the position at the start of the last round before every change that is not done', () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constant('fold' as const) }),
        fc.record({ kind: fc.constant('round' as const) }),
        fc.record({ kind: fc.constant('open' as const), fanOut: fc.boolean() }),
        fc.record({ kind: fc.constant('lift' as const), which: fc.nat(9) }),
        fc.record({ kind: fc.constant('lift fan-outs' as const) }),
      ),
      { maxLength: 60, size: 'max' },
    );
    fc.assert(
      fc.property(steps, (list) => {
        const barriers = new PositionBarriers(at(0));
        let written = barriers.begin(at(0), '');
        let folded = 0;
        let open: { barrier: Barrier; fanOut: boolean; roundAt: number }[] = [];
        for (const step of list) {
          if (step.kind === 'fold') folded += 1;
          else if (step.kind === 'round') written = barriers.begin(at(folded), `sum at ${folded}`);
          // A barrier is for a change folded since the last round began.
          else if (step.kind === 'open') {
            const { fanOut } = step;
            const barrier = barriers.open(fanOut ? { fanOut } : {});
            open.push({ barrier, fanOut, roundAt: offsetOf(written.position) });
          } else if (step.kind === 'lift fan-outs') {
            barriers.liftFanOuts();
            open = open.filter(({ fanOut }) => !fanOut);
          } else if (open.length > 0) barriers.lift(open.splice(step.which % open.length, 1)[0]!.barrier);
          for (const fanOutsStored of [false, true]) {
            const holding = open.filter(({ fanOut }) => !(fanOut && fanOutsStored)).map(({ roundAt }) => roundAt);
            const settled = offsetOf(barriers.settled(written, { fanOutsStored }).position);
            expect(settled).toBe(Math.min(offsetOf(written.position), ...holding));
          }
        }
      }),
    );
  });
});

const bounds = (partitions: number): LogBounds =>
  byTopic(() => Array.from({ length: partitions }, () => ({ low: 0, end: 9 })));
const left = (partitions: number, log: string | null): StoredPosition => {
  return { position: byTopic(() => new Array(partitions).fill(5)), log, sum: '', fanOuts: [] };
};

// docs/rules.md#partition-growth
it('a topic that grew while no projector ran is noticed from the stored position; another log is nothing to stop for', () => {
  const grown = () => assertSamePartitions(left(4, 'a'), 'a', bounds(6));
  expect(grown).toThrow(PartitionsChangedError);
  expect(grown).toThrow(/it had 4 partitions when the views were written, and has 6\..*KAFKA_TOPIC_PREFIX/);
  assertSamePartitions(left(4, 'a'), 'a', bounds(4));
  assertSamePartitions(left(4, 'a'), 'b', bounds(6));
  assertSamePartitions(left(4, null), null, bounds(6));
});

it('what all of some positions have reached is the least of them in each partition', () => {
  const [one, other] = [left(2, 'a'), left(2, 'a')];
  other.position.rides = [3, 9];
  expect(reachedByAll([one, other])).toEqual({ ...one.position, rides: [3, 5] });
  expect(reachedByAll([other, one])).toEqual({ ...one.position, rides: [3, 5] });
  other.position.rides = [9];
  expect(reachedByAll([one, other])).toEqual({ ...one.position, rides: [5, 0] });
  expect(reachedByAll([])).toBeNull();
});

it('a position is within another one where no partition is beyond it, and both know the same ones', () => {
  const { position } = left(2, 'a');
  const within = (rides: number[], nights = [5, 5]) => isWithin({ ...position, rides, nights }, position);
  expect(within([5, 5])).toBe(true);
  expect(within([5, 4])).toBe(true);
  expect(within([4, 6])).toBe(false);
  expect(within([5, 5], [6, 5])).toBe(false);
  expect(within([5])).toBe(false);
  expect(partitionsBehind({ ...position, rides: [4, 6] }, position)).toEqual(['rides/0']);
});
