import { describe, expect, it } from 'vitest';
import { Folding } from '../../../projector/intake/folding.ts';
import type { EventLog, Follower, LogBatch, LogBounds, Position } from '../../../projector/ports/event-log.ts';
import { WakeUp } from '../../../projector/running/waiting.ts';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { rider as riderRecord } from '../../reference/example-log.ts';
import { isSettled, turns } from '../../support/stores/event-loop-turns.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { type HistoryRecord, toLogRecord } from '../../support/worlds/histories.ts';

const position = (riders: number, nights = 0): Position => positionAt({ riders, nights });

/** A fold of a log whose batches and bounds the test gives; a second passes when the test says so. */
async function following(limit: Position | null = null) {
  const bounds: LogBounds = byTopic(() => [{ low: 0, end: 5 }]);
  bounds.rides.push({ low: 0, end: 5 });
  let log!: Follower;
  let from!: Position;
  const asked = { bounds: async (): Promise<LogBounds> => bounds };
  const passed = new WakeUp();
  const { stop, lines: said, ...shared } = sharedDeps();
  const metrics = {
    ...shared.metrics,
    misplaced: (topic: string, some: number) => void said.push(`${some} of ${topic}`),
  };
  const { clock } = shared;
  clock.sleep = async (ms: number, signal?: AbortSignal) => {
    await passed.wait(signal);
    expect(ms).toBe(1_000);
  };
  const follow: EventLog['follow'] = async (position, follower) => {
    from = position;
    log = follower;
  };
  const eventLog = { bounds: () => asked.bounds(), follow, close: async () => {} };
  const folding = new Folding(bounds, limit, { ...shared, metrics, rejects: null, eventLog });
  await folding.follow(stop.signal);
  const batch = (nextOffset: number, records: LogBatch['records'] = []): Promise<void> =>
    log.onBatch({ topic: 'riders', partition: 0, records, nextOffset });
  const second = async (): Promise<void> => {
    passed.notify();
    await turns();
  };
  return { folding, from, log, asked, batch, second, bounds, stop, clock, said };
}

const rider = (offset: number) =>
  toLogRecord({ ...riderRecord('r1'), partition: 0, offset, timestampMs: 7 } as HistoryRecord);

describe('a batch', () => {
  it('is told of in the turn of its facts and its position, and moves what waits', async () => {
    const { folding, from, batch } = await following();
    expect(from).toEqual({ ...position(0, 0), rides: [0, 0] });
    const told: [number, number, boolean][] = [];
    const end = folding.subscribe(({ nextOffset }) =>
      told.push([nextOffset, folding.position.riders[0]!, folding.fold.facts.riders.length > 0]),
    );
    const moved = folding.moved.wait();
    const taken = batch(2, [rider(1)]);
    expect(told).toEqual([[2, 2, true]]);
    await taken;
    expect(await isSettled(moved)).toBe(true);
    end();
    await batch(3, [rider(2)]);
    expect([told.length, folding.position.riders]).toEqual([1, [3]]);
    // The log was given a copy.
    expect(from).toEqual({ ...position(0, 0), rides: [0, 0] });
  });

  it('of no records counts where it moves the position', async () => {
    const { folding, batch } = await following();
    const told: number[] = [];
    folding.subscribe(({ nextOffset }) => told.push(nextOffset));
    for (const nextOffset of [2, 2, 1]) await batch(nextOffset);
    expect([told, folding.position.riders]).toEqual([[2], [2]]);
    await batch(2, [rider(1)]);
    expect(told).toEqual([2, 2]);
  });

  // docs/rules.md#one-partition-per-key
  it('of misplaced records is counted, and the first one of a topic told', async () => {
    const { log, said } = await following();
    const right = murmur2Partition(Buffer.from('ride0001'), 2);
    for (const [offset, partition] of [right, 1 - right, 1 - right].entries()) {
      const place = { topic: 'rides' as const, partition, offset, timestampMs: 7 };
      const records = Array(offset || 1).fill(toLogRecord({ ...place, key: 'ride0001', value: null }));
      await log.onBatch({ ...place, records, nextOffset: offset + 1 });
    }
    const line = /^1 misplaced record of rides, the first at rides\/\d@1: .*: set KAFKA_PARTITIONER to what/;
    expect(said).toEqual(['1 of rides', expect.stringMatching(line), '2 of rides']);
  });
});

it('a limit holds the log until it moves, and none holds nothing', async () => {
  const { folding, log } = await following(position(3, 4));
  const hold = log.hold!('riders', 0)!;
  expect([hold.offset, log.hold!('nights', 0)!.offset, log.hold!('nights', 1)]).toEqual([3, 4, null]);
  expect(await isSettled(hold.moved)).toBe(false);
  folding.limit = null;
  expect(await isSettled(hold.moved)).toBe(true);
  expect([folding.limit, log.hold!('riders', 0)]).toEqual([null, null]);
});

describe('folding to ends', () => {
  const ends = position(5, 0);

  // docs/rules.md#schema-registry
  it('is done once they are reached, and leaves out what waits for something else', async () => {
    const { folding, log, batch, stop } = await following();
    const done = folding.foldTo(ends, stop.signal);
    await batch(4);
    expect([await isSettled(done), folding.isBehind(ends)]).toEqual([false, true]);
    log.onWaiting!('riders', 0, true);
    expect([await isSettled(done), folding.isBehind(ends)]).toEqual([true, false]);
    log.onWaiting!('riders', 0, false);
    const again = folding.foldTo(ends, stop.signal);
    expect([await isSettled(again), folding.isBehind(ends)]).toEqual([false, true]);
    await batch(5);
    expect([await isSettled(again), folding.isBehind(ends)]).toEqual([true, false]);
  });

  it('does not wait for records that the log has lost, nor for more than there were', async () => {
    const { folding, asked, batch, second, bounds, stop } = await following();
    const done = folding.foldTo(ends, stop.signal);
    asked.bounds = () => Promise.reject(new Error('no broker'));
    await second();
    expect(await isSettled(done)).toBe(false);
    asked.bounds = async () => ({ ...bounds, riders: [{ low: 0, end: 9 }] });
    await second();
    await second();
    expect(await isSettled(done)).toBe(false);
    asked.bounds = async () => ({ ...bounds, riders: [{ low: 0, end: 2 }] });
    await batch(2);
    await second();
    expect(await isSettled(done)).toBe(false);
    await second();
    await second();
    expect(await isSettled(done)).toBe(true);
    expect(ends).toEqual(position(5, 0));
  });

  it('asks the log for its ends only after a second without a batch, and says how far it is', async () => {
    const { folding, asked, batch, second, bounds, clock, said, stop } = await following();
    let times = 0;
    asked.bounds = async () => {
      times += 1;
      return bounds;
    };
    await batch(1);
    const done = folding.foldTo(ends, stop.signal);
    for (const nextOffset of [2, 3, 4]) {
      await batch(nextOffset);
      await turns();
      clock.ms += 10_000;
    }
    expect(times).toBe(0);
    // Once a second, though the log answers at once.
    for (const seconds of [1, 2]) {
      await second();
      expect(times).toBe(seconds);
    }
    times = 0;
    asked.bounds = () => {
      times += 1;
      return new Promise(() => {});
    };
    for (let i = 0; i < 4; i++) await second();
    expect(times).toBe(1);
    await batch(5);
    await done;
    expect(said.map((line) => /\d+ %/.exec(line)?.[0])).toEqual(['50 %', '75 %', '75 %']);
  });
});
