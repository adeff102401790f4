import { expect, it } from 'vitest';
import { WindowMarks } from '../../../projector/checking/window-marks.ts';
import type { StoredName } from '../../../projector/ports/view-writer.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { gone, on, marks as relation, ride, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { foldOf } from '../../support/stores/rendered-views.ts';
import { recordKey } from '../../support/worlds/records.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

/** A window in which these changes are folded, and what is asked of a view or a reader's field. */
function windowOf(...records: LoggedRecord[]) {
  const fold = foldOf(smallWorld.records);
  const marks = new WindowMarks(fold.facts);
  fold.subscribe(marks);
  const apply = ({ topic, key, value }: LoggedRecord) => fold.apply(topic, recordKey(topic, key), value as never);
  for (const record of records) apply(record);
  const difference = (kind: StoredName['kind'], id: string, field?: string) =>
    ({ what: 'different', name: { tag: tagOf(id), kind, id }, ...(field !== undefined && { field }) }) as const;
  return {
    marks,
    isMarked: (...of: Parameters<typeof difference>) => marks.isMarked(difference(...of)),
    isAwaited: (fanOut: [string, string], ...of: Parameters<typeof difference>) =>
      marks.isAwaited(difference(...of), [
        ['unknown', [on('2015-06-13')]],
        [fanOut[0], [0, on(fanOut[1])]],
      ]),
  };
}

it('a window has marks of the views that its changes touch, and of no other', () => {
  const { marks, isMarked } = windowOf(ride('loop', { title: 'Another' }), says('ada', 'NONE', 'loop', '2015-06-13'));
  expect(isMarked('ride', 'loop')).toBe(true);
  expect(isMarked('night', 'loop/2015-06-13')).toBe(true);
  expect(isMarked('ride', 'cafe')).toBe(false);
  expect(isMarked('ride', 'strange')).toBe(false);
  for (const kind of ['foreign', 'complete'] as const) expect(isMarked(kind, 'loop')).toBe(false);
  expect(isMarked('reader', 'ada', 'o2015-06-08')).toBe(true);
  for (const field of ['f2015-06-13', 'o2015-06-01', 'x2015-06-08', 'strange', undefined]) {
    expect(isMarked('reader', 'ada', field)).toBe(false);
  }
  expect(isMarked('reader', 'bo', 'o2015-06-08')).toBe(false);
  marks.begin();
  expect([isMarked('ride', 'loop'), isMarked('reader', 'ada', 'o2015-06-08')]).toEqual([false, false]);
});

it('a field is awaited that shows a day of a rider whose watchers are still being told, if the reader sees them', () => {
  const { isAwaited } = windowOf();
  expect(isAwaited(['bo', '2015-06-13'], 'reader', 'ada', 'f2015-06-13')).toBe(true);
  expect(isAwaited(['cy', '2015-06-13'], 'reader', 'ada', 'x2015-06-08')).toBe(true);
  expect(isAwaited(['bo', '2015-06-12'], 'reader', 'ada', 'f2015-06-13')).toBe(false);
  expect(isAwaited(['bo', '2015-06-13'], 'reader', 'ada', undefined)).toBe(false);
  expect(isAwaited(['bo', '2015-06-13'], 'reader', 'cy', 'f2015-06-13')).toBe(false);
  expect(isAwaited(['nobody', '2015-06-13'], 'reader', 'ada', 'f2015-06-13')).toBe(false);
  expect(isAwaited(['bo', '2015-06-13'], 'ride', 'loop', 'f2015-06-13')).toBe(false);
});

it('a field of a reader who looks away from somebody within the window is awaited until the next one', () => {
  const { marks, isAwaited } = windowOf(relation('cy', 'bo', 'follows'), gone('relations', 'cy/bo'));
  expect(isAwaited(['bo', '2015-06-13'], 'reader', 'cy', 'f2015-06-13')).toBe(true);
  expect(isAwaited(['bo', '2015-06-13'], 'reader', 'bo', 'f2015-06-13')).toBe(false);
  marks.begin();
  expect(isAwaited(['bo', '2015-06-13'], 'reader', 'cy', 'f2015-06-13')).toBe(false);
});
