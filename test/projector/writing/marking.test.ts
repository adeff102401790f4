import { describe, expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import { FanOuts } from '../../../projector/writing/fan-outs.ts';
import { Marking } from '../../../projector/writing/marking.ts';
import { Marks, markOpenNames } from '../../../projector/writing/marks.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { gone, marks as relation, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { applyTo, foldOf, markedNames, rendered } from '../../support/stores/rendered-views.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

/** Facts whose changes are marked. `inlineMax`: absent as in a leader; null: all watchers at once. */
function marked(inlineMax?: number | null) {
  const fold = new Fold();
  const marks = new Marks();
  const fanOuts = new FanOuts(fold.facts, new PositionBarriers(positionAt()));
  const marking = new Marking(fold.facts, marks, inlineMax === null ? null : fanOuts, inlineMax ?? undefined);
  fold.subscribe(marking);
  const apply = (record: LoggedRecord) => applyTo(fold, record);
  return { facts: fold.facts, marks, marking, fanOuts, apply };
}

const { records, reader } = smallWorld;
// One who is followed hides for a while, and one who leads is there for a while.
const passing = [
  ...[relation('bo', reader, 'blocked'), gone('relations', `bo/${reader}`)],
  ...[relation('cy', reader, 'blocked'), gone('relations', `cy/${reader}`)],
  ...[ride('cafe', { leaders: ['dee'] }), rider('dee'), gone('riders', 'dee')],
];

describe('a changed fact marks', () => {
  it('up to 64 watchers at once, and more of them slice by slice', () => {
    const { facts, marks, marking, fanOuts } = marked();
    const star = facts.riderIds.add('star');
    const watch = (from: number, to: number) => {
      for (let i = from; i < to; i++) facts.watchers.set(star, facts.riderIds.add(`w${i}`), 1);
    };
    watch(0, 64);
    marking.going(star, 1);
    expect([marks.size, fanOuts.idle]).toEqual([64, true]);
    watch(64, 65);
    marking.going(star, 2);
    expect([marks.size, [...fanOuts.days(star)]]).toEqual([64, [2]]);
  });

  it.each([0, null])('every view that it changes, with watchers slice by slice, or all at once (%s)', (inlineMax) => {
    const { facts, marks, marking, fanOuts, apply } = marked(inlineMax);
    const takenOut = records.map(({ topic, key }) => gone(topic, key));
    const oneByOne = records.flatMap((record, i) => [takenOut[i]!, record]);
    // Relations first, so that there is somebody to tell of each change, and the other way round.
    const backwards = [...takenOut.toReversed(), ...records.toReversed(), ...takenOut];
    for (const record of [...records, ...oneByOne, ...passing, ...backwards]) {
      const before = rendered(facts);
      apply(record);
      for (let i = 0; i < 20; i++) fanOuts.slice((watcher, day, bits) => marking.related(watcher, day, bits));
      const after = rendered(facts);
      const names = new Set(markedNames(facts, marks.take()));
      const changed = [...before.keys(), ...after.keys()].filter((name) => before.get(name) !== after.get(name));
      expect(changed.filter((name) => !names.has(name))).toEqual([]);
    }
  });

  it('at once a reader who unfollows a rider whose change is still to be told', () => {
    const { facts, marks, fanOuts, apply } = marked(0);
    for (const record of records) apply(record);
    const others = ['bo', 'cy'] as const;
    for (const other of others) {
      const record = records.findLast(({ topic, key }) => topic === 'relations' && key === `${reader}/${other}`)!;
      for (let i = 0; i < 20; i++) fanOuts.slice(() => {});
      apply(says(other, 'NONE', 'loop', '2015-06-13'));
      marks.take();
      apply(gone('relations', record.key));
      expect(marks.size).toBe(other === 'bo' ? 1 : 2);
      expect(markedNames(facts, marks.take())).toContain(`reader:${reader}/f2015-06-13`);
    }
    apply(relation(reader, 'nobody', 'follows'));
    expect(marks.size).toBe(0);
  });
});

describe('names in an open list', () => {
  const { facts } = foldOf(records);

  it('mark the views that they name, and no other', () => {
    const marks = new Marks();
    const names = [...rendered(facts).keys()];
    expect(markOpenNames([...names, ...names], facts, marks)).toEqual([]);
    expect(markedNames(facts, marks).toSorted()).toEqual(names.toSorted());
  });

  it('that no fact was ever about are removed from the store, and none is marked', () => {
    const marks = new Marks();
    const names = ['ride:gone', 'reader:ghost/f2015-06-13', 'ride:gone', 'unknown:kind', 'reader:ada/o2015-06-13'];
    const removed = (id: string, field: string) => ({ kind: 'reader', id, fields: [{ field, value: null }] });
    expect(markOpenNames(names, facts, marks)).toEqual([
      [tagOf('gone'), { kind: 'ride', id: 'gone', value: null }],
      [tagOf('ghost'), removed('ghost', 'f2015-06-13')],
      // A week's field begins with a Monday.
      [tagOf('ada'), removed('ada', 'o2015-06-13')],
    ]);
    expect(marks.size).toBe(0);
  });
});
