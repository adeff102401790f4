import { describe, expect, it } from 'vitest';
import { Facts, subjectDay } from '../../../projector/facts/facts.ts';
import { flaggedPart, friendsPart, ownPart } from '../../../projector/views/reader.ts';
import { Marks, markOpenNames } from '../../../projector/writing/marks.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { foldOf, markedNames, rendered } from '../../support/stores/rendered-views.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

describe('marks', () => {
  it('of a day are of its week where a field shows a week, are counted once, and go together', () => {
    const marks = new Marks();
    const rider = new Facts().riderIds.add('ada');
    const [friday, saturday, monday] = [16_598, 16_599, 16_594];
    for (const day of [friday, saturday]) {
      for (const parts of [0, friendsPart, flaggedPart, friendsPart]) marks.readerDay(rider, day, parts);
    }
    marks.readerDay(rider, friday, ownPart);
    const days = [
      [friday, friendsPart],
      [monday, flaggedPart | ownPart],
      [saturday, friendsPart],
    ] as const;
    expect([...marks.readerDays]).toEqual(days.map(([day, parts]) => [subjectDay(rider, day), parts]));
    for (const kind of ['ride', 'metro'] as const) for (const view of [0, 1]) marks.values[kind].add(view);
    expect(marks.size).toBe(7);
    const taken = marks.take();
    expect([taken.readerDays.size, taken.values.ride.size, taken.values.metro.size, marks.size]).toEqual([3, 2, 2, 0]);
    marks.values.ride.add(2);
    expect([marks.size, taken.values.ride.size]).toEqual([1, 2]);
  });
});

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
