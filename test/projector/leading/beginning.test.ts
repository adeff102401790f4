import { describe, expect, it } from 'vitest';
import { Folding } from '../../../projector/intake/folding.ts';
import { beginning, foldToBeginning, inOrder, placeOf, usable } from '../../../projector/leading/beginning.ts';
import { realClock } from '../../../projector/ports/clock.ts';
import type { Position } from '../../../projector/ports/event-log.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { TakenTag } from '../../../projector/ports/view-writer.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const log = 'the log';
const at = (rides: number) =>
  ({ ...Object.fromEntries(topicNames.map((topic) => [topic, [0]])), rides: [rides] }) as Position;
const left = (rides: number, sum: string, open: string[] = []) => ({
  position: JSON.stringify({ log, position: at(rides), sum, fanOuts: [] }),
  open,
  compare: false,
});

// docs/rules.md#beginning
describe('a new leader compares', () => {
  const compared = (tags: ReturnType<typeof left>[], sums: Record<number, string>): number[] => {
    const taken = new Map(tags.map((tag, i) => [i, tag]));
    const positions = inOrder(tags.map(({ position }) => usable(position, log, at(9))));
    const reached = new Map(
      positions.flatMap((one) => {
        const sum = sums[one.position.rides[0]!];
        return sum === undefined ? [] : [[placeOf(one), sum] as const];
      }),
    );
    const folded = { sums: reached, at: positions.at(-1) ?? null };
    return [...beginning(taken, log, at(9), folded).compare];
  };

  it('no tag that was left with its own facts, at whatever position', () => {
    expect(compared([left(5, 'e'), left(3, 'c'), left(5, 'e')], { 3: 'c', 5: 'e' })).toEqual([]);
  });

  it('a tag that was left with other facts at an earlier position: its store is of before the log lost records', () => {
    expect(compared([left(5, 'e'), left(3, 'of lost records')], { 3: 'c', 5: 'e' })).toEqual([1]);
    expect(compared([left(5, 'e'), left(5, 'of lost records')], { 5: 'e' })).toContain(1);
  });

  it('a tag whose position could not be reached exactly, and all where the furthest has other facts', () => {
    expect(compared([left(5, 'e'), left(3, 'c')], { 5: 'e' })).toEqual([1]);
    expect(compared([left(5, 'x'), left(3, 'c')], { 3: 'c', 5: 'e' })).toEqual([0, 1]);
  });
});

it('a position counts if it is of this log and not beyond its ends', () => {
  const stored = left(5, 'e').position;
  expect(usable(stored, log, at(5))?.position).toEqual(at(5));
  expect([usable(stored, log, at(4)), usable(stored, 'another', at(9)), usable(stored, null, at(9))]).toEqual([
    null,
    null,
    null,
  ]);
  expect([usable(null, null, at(9)), usable('no position', null, at(9))]).toEqual([null, null]);
});

// docs/rules.md#beginning
describe('a new leader folds', () => {
  const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;
  const records = Array.from({ length: 9 }, (_, offset) => ({
    ...({ topic: 'rides', partition: 0, offset, timestampMs: 0, key: `ride${offset}` } as const),
    value: { ...sampleRecords.rides, ride: `ride${offset}` },
  }));

  /** A fold that has got so far. */
  async function folding(rides: number) {
    const eventLog = new MemoryEventLog({ partitions, records });
    const stop = new AbortController();
    const said: string[] = [];
    const say = (message: string) => void said.push(message);
    const deps = {
      ...{ eventLog, rejects: null, metrics: noMetrics, clock: realClock },
      ...{ log: { info: say, warn: say, error: say }, signal: stop.signal, identity: log },
    };
    const folding = new Folding(await eventLog.bounds(), at(rides), deps);
    void folding.follow(stop.signal);
    await folding.foldTo(at(rides), stop.signal);
    return { folding, deps: { ...deps, folding }, said, stop };
  }
  async function sumAt(rides: number): Promise<string> {
    const { folding: one, stop } = await folding(rides);
    stop.abort();
    return one.fold.facts.sum.text;
  }

  it('exactly to each position that tags were left with, and writes again what may be ahead of it', async () => {
    const fanOuts = [['star', [1]]];
    const tagLeft = async (rides: number, open: string[], compare = false) => {
      const { position } = left(rides, await sumAt(rides));
      return { position: JSON.stringify({ ...JSON.parse(position), fanOuts }), open, compare };
    };
    const taken = new Map<number, TakenTag>([
      [0, await tagLeft(5, ['ride:a', 'ride:b'])],
      [1, await tagLeft(3, ['ride:c'])],
      [2, await tagLeft(5, ['ride:d'], true)],
      [3, { position: null, open: ['ride:e'], compare: false }],
    ]);
    const fresh = await folding(0);
    const begin = await foldToBeginning(taken, at(9), fresh.deps);
    fresh.stop.abort();
    expect(begin).toEqual({
      compare: new Set([2, 3]),
      names: ['ride:a', 'ride:b', 'ride:c'],
      fanOuts: [...fanOuts, ...fanOuts],
    });
    expect(fresh.folding.position).toEqual(at(5));
    expect(fresh.said).toEqual([expect.stringContaining('3 views that may be ahead')]);
    // What is folded already can not be taken back.
    const further = await folding(4);
    expect((await foldToBeginning(taken, at(9), further.deps)).compare).toEqual(new Set([1, 2, 3]));
    further.stop.abort();
    expect(further.folding.position).toEqual(at(5));
  });

  it('no further than it has, where no tag was left with a position of this log', async () => {
    const { folding: fold, deps, said, stop } = await folding(2);
    const taken = new Map([[0, { position: null, open: ['ride:a'], compare: false }]]);
    const begin = await foldToBeginning(taken, at(9), deps);
    stop.abort();
    expect(begin).toEqual({ compare: new Set([0]), names: [], fanOuts: [] });
    expect(fold.position).toEqual(at(2));
    expect(said).toEqual([expect.stringContaining('1 tag to compare')]);
  });
});
