import { expect, it } from 'vitest';
import { NamedViews, nightNames, riderNames } from '../../../../api/calendar/views/named-views.ts';
import { nightKey, riderKey } from '../../../../schemas/views/view-kinds.ts';

const equals = 61;

it.each([
  ['riders', riderNames, riderKey('loop')],
  ['nights', nightNames, nightKey('loop', '1970-01-01')],
] as const)('names of %s are kept from one answer to the next, until they are too many', (list, names, key) => {
  const named = (id: string) => names.valueAt(new DataView(new TextEncoder().encode(id).buffer), 0, equals);
  const name = named('loop');
  const views = new NamedViews();
  expect(views[list].placeOf(name)).toBe(0);
  expect([views[list].has(name), views[list].has(named('other')), named('loop')]).toEqual([true, false, name]);
  for (let i = 0; i < 32_768; i++) named(`some${i}`);
  expect(new NamedViews()[list].has(name)).toBe(false);
  expect(named('loop')).toEqual({ id: 'loop', key, answer: 0, place: 0 });
});
