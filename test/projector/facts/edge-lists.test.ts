import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EdgeLists } from '../../../projector/facts/edge-lists.ts';

const changes = fc.array(
  fc.record({
    list: fc.oneof(fc.nat(4), fc.nat(400)),
    // The highest ids have 28 bits.
    id: fc.oneof(fc.nat(60), fc.integer({ min: 2 ** 28 - 2, max: 2 ** 28 - 1 })),
    // 0 removes: often enough that lists shrink again.
    bits: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 15 })),
  }),
  { maxLength: 400, size: 'max' },
);
type Change = typeof changes extends fc.Arbitrary<(infer T)[]> ? T : never;

const byNumber = (a: number, b: number) => a - b;
/** As attendance is: by something of the id, then by number. */
const byKey = (a: number, b: number) => (a % 7) - (b % 7) || a - b;
class KeyedLists extends EdgeLists {
  override compare = byKey;
}

function entries(lists: EdgeLists, list: number): [number, number][] {
  return Array.from({ length: lists.length(list) }, (_, i) => [lists.id(list, i), lists.bits(list, i)]);
}

function holdWhatAMapHolds(lists: EdgeLists, compare: typeof byKey, list: readonly Change[]): void {
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
    const sorted = [...ofList].sort(([a], [b]) => compare(a, b));
    deepStrictEqual(entries(lists, number), sorted);
  }
}

describe('edge lists', () => {
  it('hold what a map of sorted maps holds', () => {
    fc.assert(fc.property(changes, (list) => holdWhatAMapHolds(new EdgeLists(), byNumber, list)));
    fc.assert(fc.property(changes, (list) => holdWhatAMapHolds(new KeyedLists(), byKey, list)));
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
    const moving = Array.from({ length: 12_000 }, (_, i) => ({
      list: (i * 7919) % 60,
      id: (i * 31 + (i >> 3)) % 200,
      bits: i % 5 === 0 ? 0 : 1 + (i % 15),
    }));
    holdWhatAMapHolds(new EdgeLists(), byNumber, moving);
    const long = new EdgeLists();
    const all = Array.from({ length: 20_000 }, (_, id): [number, number] => [id, 1 + (id % 15)]);
    for (const [id, bits] of all) long.set(1, id, bits);
    deepStrictEqual(entries(long, 1), all);
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
