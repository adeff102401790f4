import { expect, test } from 'vitest';
import { UnreadableChanges } from '../../../projector/watching/unreadable-changes.ts';

type Sample = [fromRecord: number, fromArrival: number];

function measuring(keptMax?: number) {
  const samples: Sample[] = [];
  const clock = { ms: 0, nowMs: () => clock.ms, sleep: async () => {} };
  const changes = new UnreadableChanges((...sample) => void samples.push(sample), keptMax, clock);
  /** A batch is folded, or a round is answered, at a time. */
  const take = (folded: ReturnType<typeof batch>, nowMs: number, fanOut = 0): void => {
    clock.ms = nowMs;
    changes.take(folded, fanOut);
  };
  const written = (round: number, nowMs: number, fannedOut = 0): Promise<void> => {
    clock.ms = nowMs;
    return changes.written(round, fannedOut);
  };
  return { samples, changes, take, written };
}

let offset = 0;
const batch = (timestampsMs: number[], unreadSinceMs?: number) => ({
  topic: 'riders' as const,
  partition: 0,
  nextOffset: 0,
  ...(unreadSinceMs !== undefined && { unreadSinceMs }),
  records: timestampsMs.map((timestampMs) => ({
    topic: 'riders' as const,
    partition: 0,
    offset: offset++,
    timestampMs,
    keyBytes: Buffer.from('r'),
    valueBytes: null,
    reader: null,
    raw: () => ({ key: null, value: null, headers: {} }),
  })),
});

test('every change of a round is measured by itself, from its record’s time and from its arrival', async () => {
  const { samples, changes, take, written } = measuring();
  take(batch([1_000, 2_000]), 2_500);
  take(batch([3_000]), 3_500);
  await written(changes.begin(), 7_000);
  expect(samples).toEqual([
    [6, 4.5],
    [5, 4.5],
    [4, 3.5],
  ]);
  expect(changes.sinceMs).toBeNull();
});

test('what comes while a round is written belongs to the next one', async () => {
  const { samples, changes, take, written } = measuring();
  take(batch([1_000]), 1_000);
  const taken = changes.begin();
  take(batch([2_000]), 2_000);
  await written(taken, 3_000);
  expect(samples).toEqual([[2, 2]]);
  expect(changes.sinceMs).toBe(2_000);
});

test('a change whose readers are told slice by slice is readable when the last one is told; others do not wait for it', async () => {
  const { samples, changes, take, written } = measuring();
  take(batch([1_000]), 1_000, 1);
  take(batch([2_000]), 2_000);
  await written(changes.begin(), 3_000);
  expect(samples).toEqual([[1, 1]]);
  expect(changes.sinceMs).toBe(1_000);
  await written(changes.begin(), 6_000, 1);
  expect(samples[1]).toEqual([5, 5]);
  expect(changes.sinceMs).toBeNull();
});

test('the oldest is as old as it has been there unread, whatever time its record has', () => {
  const { changes, take } = measuring();
  take(batch([5]), 9_000);
  expect(changes.sinceMs).toBe(9_000);
  take(batch([5], 8_000), 9_500);
  expect(changes.sinceMs).toBe(8_000);
});

test('a clock that is ahead makes no negative time', async () => {
  const { samples, changes, take, written } = measuring();
  take(batch([9_000]), 1_000);
  await written(changes.begin(), 2_000);
  expect(samples).toEqual([[0, 1]]);
});

test('memory is bounded while nothing is written: the first of a batch then stands for it', async () => {
  const { samples, changes, take, written } = measuring(4);
  take(batch([1, 2, 3]), 10);
  take(batch([4, 5]), 10);
  await written(changes.begin(), 10);
  expect(samples).toHaveLength(4);
  take(batch([6, 7]), 10);
  await written(changes.begin(), 10);
  expect(samples).toHaveLength(6);
});
