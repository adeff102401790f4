import { expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import { Marks, markOpenNames } from '../../../projector/writing/marks.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';

it('names in an open list that no fact was ever about are removed from the store, and none is marked', () => {
  const marks = new Marks();
  const names = ['ride:gone', 'reader:ghost/f2015-06-13', 'ride:gone', 'unknown:kind'];
  expect(markOpenNames(names, new Fold().facts, marks)).toEqual([
    [tagOf('gone'), { kind: 'ride', id: 'gone', value: null }],
    [tagOf('ghost'), { kind: 'reader', id: 'ghost', fields: [{ field: 'f2015-06-13', value: null }] }],
  ]);
  expect(marks.size).toBe(0);
});
