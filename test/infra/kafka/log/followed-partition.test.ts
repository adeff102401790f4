import { expect, it } from 'vitest';
import { advance, followedPartition, noteHeldBack } from '../../../../infra/kafka/log/followed-partition.ts';
import type { FetchedPartition } from '../../../../infra/kafka/protocol/fetch-api.ts';

const hourMs = 3_600_000;

/** A partition that is followed by clocks that are set here. */
function following() {
  const at = { wallMs: 1e12, nowMs: 5_000, upMs: 9e6 };
  const partition = followedPartition({ topic: 'rides', topicId: 'id', partition: 0, offset: 0 }, at);
  const pass = (ms: number): void => {
    for (const clock of ['wallMs', 'nowMs', 'upMs'] as const) at[clock] += ms;
  };
  /** An answer with the records up to an offset, of this time. `ends`: more follow them. */
  const fetch = (nextOffset: number, timestampMs: number, ends: Partial<FetchedPartition> = {}) => {
    const place = { topicId: 'id', partition: 0, offset: partition.offset, nextOffset, lastEpoch: 0, errorCode: 0 };
    const read = { highWatermark: nextOffset, lastStableOffset: nextOffset, batches: [{ timestampMs }] };
    return { ...place, ...read, ...ends } as FetchedPartition;
  };
  return { at, partition, pass, fetch };
}

// docs/rules.md#clock
it.each([0, hourMs, -hourMs, 96 * hourMs, -96 * hourMs])(
  'a wall clock stepped by %i ms changes no age, no wait, and is no absence',
  (stepMs) => {
    const { at, partition, pass, fetch } = following();
    const take = (found: FetchedPartition) => advance(partition, found, at, 168 * hourMs);
    take(fetch(1, at.wallMs));
    at.wallMs += stepMs;
    // Nothing came for ten seconds, and then a record that is three seconds old.
    pass(10_000);
    take(fetch(2, at.wallMs - 3_000));
    expect(partition.fetched.at(-1)!.sinceMs).toBe(at.nowMs - 3_000);
    // One that was written by the time from before the step: it was read to the end at `nowMs`, and is not older.
    pass(400);
    take(fetch(3, at.wallMs - stepMs));
    const { sinceMs } = partition.fetched.at(-1)!;
    expect([sinceMs >= at.nowMs - 400, sinceMs <= at.nowMs]).toEqual([true, true]);
    // An open transaction is reported after two seconds, whichever way the clock goes meanwhile.
    const hidden = fetch(3, at.wallMs, { highWatermark: 9, lastStableOffset: 3 });
    expect(noteHeldBack(partition, hidden, at)).toBe(false);
    at.wallMs -= 2 * stepMs;
    pass(1_900);
    expect(noteHeldBack(partition, hidden, at)).toBe(false);
    pass(200);
    expect(noteHeldBack(partition, hidden, at)).toBe(true);
    expect(partition.heldBackSinceMs).toBe(at.nowMs - 2_100);
  },
);

it('a machine that slept for four days was away, also by a clock that stood still, and two absences are no longer one', () => {
  const { at, partition, fetch } = following();
  for (const offset of [1, 2]) {
    at.upMs += 60 * hourMs;
    expect(advance(partition, fetch(offset, at.wallMs), at, 168 * hourMs)).toBe(true);
  }
  at.upMs += 96 * hourMs;
  expect(() => advance(partition, fetch(3, at.wallMs), at, 169 * hourMs)).toThrow('unread for more than 84.5 hours');
});
