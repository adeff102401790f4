import { expect, it } from 'vitest';
import { type Difference, differencesOf } from '../../../projector/checking/difference.ts';
import type { FieldsWrite, StoredName, StoredView, ViewWrite } from '../../../projector/ports/view-writer.ts';

const ride: StoredName = { tag: 3, kind: 'ride', id: 'loop' };
const ada: StoredName = { tag: 5, kind: 'reader', id: 'ada' };

const storedRide = (bytes: string | null) =>
  ({ ...ride, bytes: bytes && Buffer.from(bytes), whole: true }) as StoredView;
const storedAda = (fields: Record<string, string> | null) =>
  ({
    ...ada,
    fields: fields && new Map(Object.entries(fields).map(([field, value]) => [field, Buffer.from(value)])),
  }) as StoredView;
const toRide = (value: string | null) =>
  ({ kind: 'ride', id: 'loop', value: value && Buffer.from(value) }) as ViewWrite;
const toAda = (fields: Record<string, string | null>, more: Pick<FieldsWrite, 'replaces'> = {}): ViewWrite => ({
  ...{ kind: 'reader', id: 'ada' },
  fields: Object.entries(fields).map(([field, value]) => ({ field, value })),
  ...more,
});

const texts = (differences: readonly Difference[]): string[] =>
  differences.map(({ what, field = '' }) => `${what} ${field}`.trim());

it.each([
  ['missing', null, 'x', ['missing']],
  ['of other bytes', 'y', 'x', ['different']],
  ['as it should be', 'x', 'x', []],
  ['there, and should not be', 'x', null, ['extra']],
] as const)('a view that is %s', (_, stored, right, wanted) => {
  const found = differencesOf(ride, stored === null ? null : storedRide(stored), toRide(right));
  expect(texts(found)).toEqual(wanted);
  for (const { name } of found) expect(name).toBe(ride);
});

it('a key of another type is of the wrong type where a view should be, and else extra', () => {
  expect(texts(differencesOf(ride, storedRide(null), toRide('x')))).toEqual(['wrong type']);
  expect(texts(differencesOf(ride, storedRide(null), toRide(null)))).toEqual(['extra']);
  expect(texts(differencesOf(ada, storedAda(null), toAda({ f1: 'x' })))).toEqual(['wrong type']);
  expect(texts(differencesOf(ada, storedAda(null), toAda({})))).toEqual(['extra']);
});

it('a rider’s hash differs field by field, and where all of it is replaced, in what that leaves out too', () => {
  const right = { f1: 'x', f2: 'x', f3: 'x', f4: null };
  expect(texts(differencesOf(ada, null, toAda(right)))).toEqual(['missing f1', 'missing f2', 'missing f3', 'extra f4']);
  const stored = storedAda({ f1: 'x', f2: 'y', f4: 'x', f5: 'x' });
  const found = ['different f2', 'missing f3', 'extra f4'];
  expect(texts(differencesOf(ada, stored, toAda(right)))).toEqual(found);
  expect(texts(differencesOf(ada, stored, toAda(right, { replaces: true })))).toEqual([...found, 'extra f5']);
});
