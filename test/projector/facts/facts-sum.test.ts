import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rsvpBits } from '../../../projector/facts/facts.ts';
import type { AnyRecord } from '../../../schemas/events/records.ts';
import { marks, night, ride, says } from '../../reference/example-log.ts';
import { badness, type LoggedRecord, latestRecords } from '../../reference/facts.ts';
import { foldOf } from '../../support/stores/rendered-views.ts';
import { historyArb } from '../../support/worlds/histories.ts';
import { compactions, interleavings } from '../../support/worlds/log-orders.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const numRuns = Number(process.env.RUNS ?? 150);

const sumOf = (records: readonly LoggedRecord[]): string =>
  foldOf(records.filter((record) => badness(record) === null)).facts.sum.text;

/** What counts of a record; null where the facts keep nothing of it. */
function counted(value: AnyRecord): unknown {
  const { revision: _revision, changed_at: _changedAt, ...rest } = value;
  if ('response' in rest) return rsvpBits(rest.response, rest.saved) || null;
  if ('follows' in rest) return Object.values(rest).includes(true) ? rest : null;
  return 'key_hash' in rest ? rest.key_hash.toString('hex') : rest;
}

/** The facts, said independently of the fold. */
const keptOf = (records: readonly LoggedRecord[]) =>
  Object.values(latestRecords(records)).map((latest: ReadonlyMap<string, AnyRecord>) => {
    const contents = [...latest].map(([key, value]) => [key, counted(value)] as const);
    return new Map(contents.filter(([, content]) => content !== null));
  });

describe('the sum of facts', { timeout: 60_000 }, () => {
  it('is the same in every build: with another sum a take-over compares all views', () => {
    expect(sumOf(smallWorld.records)).toBe('368bef1571e812acc857619be7954dc2');
    expect(sumOf([night('loop', '1969-12-31')])).toBe('967742eb13604445928c34f96f41e620');
    const rows = [says('ada', 'GOING', 'loop', '2015-06-13'), marks('ada', 'bo', 'follows')];
    expect(sumOf(rows)).toBe('41769c3fa5c29a8abeed15b3fc142373');
  });

  it('is the same exactly where the facts are: in any order, after any compaction, and not one record earlier', async () => {
    const pairs = historyArb().chain((history) =>
      fc.tuple(
        fc.constant(history.records),
        fc.oneof(
          interleavings(history),
          compactions(history).map(({ records }) => records),
          fc.nat(history.records.length).map((count) => history.records.slice(0, count)),
          fc.nat(history.records.length).map((at) => history.records.filter((_, i) => i !== at)),
        ),
      ),
    );
    const counts = [0, 0];
    await fc.assert(
      fc.property(pairs, ([one, other]) => {
        const equal = isDeepStrictEqual(keptOf(one), keptOf(other));
        counts[Number(equal)]!++;
        expect(sumOf(one) === sumOf(other)).toBe(equal);
      }),
      { numRuns },
    );
    expect(Math.min(...counts)).toBeGreaterThan(numRuns / 20);
  });

  it('tells a field of one record from every other value of it, but for its revision', () => {
    const variants: Parameters<typeof ride>[1][] = [
      { title: 'a' },
      { title: '', description: 'a' },
      { title: 'b' },
      { title: 'a', description: '' },
      ...[['r1', 'r2'], ['r2', 'r1'], ['r1r2']].map((leaders) => ({ title: 'a', leaders })),
      { title: 'a', posted: false },
    ];
    const sums = variants.map((some) => sumOf([ride('ride1', some)]));
    expect(new Set(sums).size).toBe(variants.length);
    expect(sumOf([ride('ride1', { title: 'a', revision: 2, changed_at: 5 })])).toBe(sums[0]);
  });
});
