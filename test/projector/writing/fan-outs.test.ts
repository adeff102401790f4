import { describe, expect, it } from 'vitest';
import { Facts } from '../../../projector/facts/facts.ts';
import type { RiderNumber } from '../../../projector/facts/numbers.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import { FanOuts } from '../../../projector/writing/fan-outs.ts';
import { positionAt } from '../../support/stores/placed-log.ts';

const bits = 5;

/** Two riders with so many watchers each, who are the same for both, and what each slice marks. */
function famous(watchers: number, slice?: number) {
  const facts = new Facts();
  const ids = Array.from({ length: watchers }, (_, i) => facts.riderIds.add(`w${16 + i}`));
  const [star, other] = ['star', 'other'].map((id) => facts.riderIds.add(id)) as [RiderNumber, RiderNumber];
  for (const id of ids) for (const rider of [star, other]) facts.watchers.set(rider, id, bits);
  const position = positionAt();
  const barriers = new PositionBarriers(position);
  const fanOuts = new FanOuts(facts, barriers, slice);
  const { riderIds } = facts;
  return {
    star,
    other,
    facts,
    fanOuts,
    barriers,
    position,
    /** Tag by tag, in the order of their numbers. */
    inTurn: ids.toSorted((a, b) => riderIds.tag(a) - riderIds.tag(b) || a - b),
    slice() {
      const marked: [watcher: number, day: number, bits: number][] = [];
      const barrier = fanOuts.slice((...mark) => marked.push(mark));
      return { marked, isLast: barrier !== null };
    },
  };
}

describe('a fan-out', () => {
  it('shares the rounds with others, and days that change while it goes on are one more pass', () => {
    const { star, other, fanOuts, inTurn, slice } = famous(3, 2);
    expect([fanOuts.added, fanOuts.told]).toEqual([0, 0]);
    fanOuts.add(star, 1);
    fanOuts.add(other, 2);
    expect([fanOuts.added, fanOuts.told, fanOuts.idle]).toEqual([2, 0, false]);
    const all = (day: number, from = 0, to = 3) => inTurn.slice(from, to).map((watcher) => [watcher, day, bits]);
    expect(slice()).toEqual({ marked: all(1, 0, 2), isLast: false });
    fanOuts.add(star, 1);
    fanOuts.add(star, 3);
    fanOuts.add(star, 4);
    expect([...fanOuts.days(star)]).toEqual([1, 1, 3, 4]);
    expect(fanOuts.stored()).toEqual([
      ['other', [2]],
      ['star', [1, 3, 4]],
    ]);
    expect(slice()).toEqual({ marked: all(2, 0, 2), isLast: false });
    expect(fanOuts.told).toBe(0);
    expect(slice()).toEqual({ marked: all(1, 2), isLast: true });
    // The change of the other rider was the second, those of the next pass follow.
    expect([fanOuts.added, fanOuts.told]).toEqual([5, 1]);
    expect(slice()).toEqual({ marked: all(2, 2), isLast: true });
    expect(fanOuts.told).toBe(2);
    expect([...fanOuts.days(other)]).toEqual([]);
    for (const watcher of inTurn) {
      expect(slice()).toEqual({ marked: [1, 3, 4].map((day) => [watcher, day, bits]), isLast: false });
    }
    expect(slice()).toEqual({ marked: [], isLast: true });
    expect([fanOuts.added, fanOuts.told, fanOuts.idle]).toEqual([5, 5, true]);
  });

  it('of a term that has ended holds nothing back in the next one', () => {
    const { star, other, fanOuts, barriers, position, slice } = famous(0);
    fanOuts.add(star, 1);
    // Its last watchers were told in a round that was broken off.
    expect(slice().isLast).toBe(true);
    fanOuts.add(other, 1);
    fanOuts.clear();
    expect(fanOuts.idle).toBe(true);
    const start = barriers.begin(position, '');
    expect(barriers.settled(start, { fanOutsStored: false })).toBe(start);
  });
});
