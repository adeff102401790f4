import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EdgeLists } from '../../../projector/facts/edge-lists.ts';

interface Change {
  list: number;
  id: number;
  bits: number;
}

const changes = (idMax: number): fc.Arbitrary<Change[]> =>
  fc.array(
    fc.record({
      list: fc.oneof(fc.nat(4), fc.nat(400)),
      id: fc.nat(idMax),
      // 0 removes: often enough that lists shrink again.
      bits: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 15 })),
    }),
    { maxLength: 400, size: 'max' },
  );

/** As attendance is: by something of the id, then by number. */
class KeyedLists extends EdgeLists {
  override compare(a: number, b: number): number {
    return (a % 7) - (b % 7) || a - b;
  }
}

type Order = [make: () => EdgeLists, compare: (a: number, b: number) => number];
const orders: Order[] = [
  [() => new EdgeLists(), (a, b) => a - b],
  [() => new KeyedLists(), (a, b) => (a % 7) - (b % 7) || a - b],
];

function entries(lists: EdgeLists, list: number): [number, number][] {
  return Array.from({ length: lists.length(list) }, (_, i) => [lists.id(list, i), lists.bits(list, i)]);
}

function holdWhatAMapHolds([make, compare]: Order, list: readonly Change[]): void {
  const lists = make();
  const model = new Map<number, Map<number, number>>();
  for (const change of list) {
    const ofList = model.get(change.list) ?? new Map<number, number>();
    model.set(change.list, ofList);
    strictEqual(lists.set(change.list, change.id, change.bits), ofList.get(change.id) ?? 0);
    if (change.bits === 0) ofList.delete(change.id);
    else ofList.set(change.id, change.bits);
    strictEqual(lists.get(change.list, change.id), change.bits);
    const before = [...ofList.keys()].filter((id) => compare(id, change.id) < 0).length;
    strictEqual(lists.lowerBound(change.list, change.id), before);
  }
  for (const [number, ofList] of model) {
    deepStrictEqual(
      entries(lists, number),
      [...ofList].sort(([a], [b]) => compare(a, b)),
    );
  }
}

describe('edge lists', () => {
  it.each(orders)('hold what a map of sorted maps holds', (...order) => {
    fc.assert(
      fc.property(changes(60), (list) => holdWhatAMapHolds(order, list)),
      { numRuns: 100 },
    );
  });

  it('keep ids of 28 bits apart, and all four bits of each', () => {
    const lists = new EdgeLists();
    const top = 2 ** 28 - 1;
    const wanted = [
      [0, 1],
      [top - 1, 8],
      [top, 15],
    ] as const;
    for (const [id, bits] of wanted.toReversed()) lists.set(0, id, bits);
    expect(entries(lists, 0)).toEqual(wanted);
  });

  it('give the room of a list that shrank to others: coming and going does not grow them', () => {
    const lists = new EdgeLists();
    const fillAndEmpty = (): void => {
      for (let list = 0; list < 50; list++) for (let id = 0; id < 100; id++) lists.set(list, id, 1);
      for (let list = 0; list < 50; list++) for (let id = 0; id < 100; id++) lists.set(list, id, 0);
    };
    fillAndEmpty();
    const { bytes } = lists;
    for (let round = 0; round < 20; round++) fillAndEmpty();
    expect(lists.bytes).toBe(bytes);
  });

  it('keep every entry when they move together into more room, and lists that grow and shrink meanwhile', () => {
    const changes = Array.from({ length: 12_000 }, (_, i) => ({
      list: (i * 7919) % 60,
      id: (i * 31 + (i >> 3)) % 200,
      bits: i % 5 === 0 ? 0 : 1 + (i % 15),
    }));
    holdWhatAMapHolds(orders[0]!, changes);
  });

  it('take 12 bytes an entry at most, slack included, once there are many', () => {
    const lists = new EdgeLists();
    let count = 0;
    // Ten entries a list on average, as relations are; lengths of every sort.
    for (let list = 0; list < 20_000; list++) {
      for (let id = 0; id < (list * 7) % 21; id++, count++) lists.set(list, list + id, 1);
    }
    expect(lists.bytes / count).toBeLessThan(12);
  });
});
