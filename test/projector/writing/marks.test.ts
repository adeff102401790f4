import { describe, expect, it } from 'vitest';
import { Marks, markOpenNames } from '../../../projector/writing/marks.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { foldOf, markedNames, rendered } from '../../support/stores/rendered-views.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

describe('names in an open list', () => {
  const { facts } = foldOf(smallWorld.records);

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
