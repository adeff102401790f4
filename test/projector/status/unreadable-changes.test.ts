import { expect, test } from 'vitest';
import { UnreadableChanges } from '../../../projector/status/unreadable-changes.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';

function measuring() {
  const samples: number[] = [];
  const clock = new SteppingClock();
  clock.ms = 0;
  const changes = new UnreadableChanges((seconds) => void samples.push(seconds), clock);
  /** A batch of records with these times is folded, or a round is answered, at a time. */
  const take = (timestampsMs: number[], nowMs: number, { fanOut = 0, ...unread }: Partial<Taken> = {}): void => {
    clock.ms = nowMs;
    const place = { topic: 'riders', partition: 0, key: 'r', value: null } as const;
    const records = timestampsMs.map((timestampMs, offset) => toLogRecord({ ...place, offset, timestampMs }));
    changes.take({ ...unread, records }, fanOut);
  };
  const written = (round: number, nowMs: number, fannedOut = 0): void => {
    clock.ms = nowMs;
    changes.written(round, fannedOut);
  };
  return { clock, samples, changes, take, written };
}
type Taken = { fanOut: number; unreadSinceMs: number };

test('every batch of a round is measured by itself, from the time of its first record, or from now where that is ahead', () => {
  const { samples, changes, take, written } = measuring();
  take([1_000, 2_000], 2_500);
  take([3_000], 3_500);
  take([9_000], 3_600);
  const round = changes.begin();
  // What comes while a round is written belongs to the next one.
  take([4_000], 4_000);
  written(round, 7_000);
  expect([samples, changes.sinceMs]).toEqual([[6, 4, 0], 4_000]);
  written(changes.begin(), 8_000);
  expect([samples.at(-1), changes.sinceMs]).toEqual([4, null]);
  // docs/rules.md#timestamps
  take([-9e15], 9_000);
  written(changes.begin(), 9_000);
  expect(samples.at(-1)).toBe((9_000 - Date.parse('0001-01-01T00:00:00Z')) / 1_000);
});

test('a change whose readers are told slice by slice is readable when the last one is told; others do not wait for it', () => {
  const { samples, changes, take, written } = measuring();
  take([1_000], 1_000, { fanOut: 1 });
  take([2_000], 2_000);
  written(changes.begin(), 3_000);
  expect([samples, changes.sinceMs]).toEqual([[1], 1_000]);
  written(changes.begin(), 6_000, 1);
  expect([samples, changes.sinceMs]).toEqual([[1, 5], null]);
});

test('the oldest is as old as it has been there unread, whatever time its record has', () => {
  const { changes, take } = measuring();
  take([5], 9_000);
  expect(changes.sinceMs).toBe(9_000);
  take([5], 9_500, { unreadSinceMs: 8_000 });
  expect(changes.sinceMs).toBe(8_000);
});

test('a change whose marks were lost is readable once a compare is done, whatever rounds are written before', () => {
  const { samples, changes, take, written } = measuring();
  take([1_000], 1_000);
  changes.lost();
  take([2_000], 2_000);
  written(changes.begin(), 3_000);
  expect([samples, changes.sinceMs]).toEqual([[1], 1_000]);
  changes.compared();
  written(changes.begin(), 9_000);
  expect([samples, changes.sinceMs]).toEqual([[1, 8], null]);
});

// docs/rules.md#clock
test.each([3_600_000, -3_600_000])(
  'a wall clock that is stepped by %i ms changes no age; a delay goes by its time now',
  (stepMs) => {
    const { clock, samples, changes, take, written } = measuring();
    take([1_000], 1_000);
    clock.wallAheadMs = stepMs;
    expect(changes.sinceMs).toBe(1_000);
    take([2_000 + stepMs], 2_500);
    written(changes.begin(), 4_000);
    expect(samples.at(-1)).toBe(2);
  },
);
