import { expect, it } from 'vitest';
import { Goings } from '../../../api/calendar/goings.ts';
import { NamedViews } from '../../../api/calendar/views/named-views.ts';
import { encodeGoing, goingBits } from '../../../schemas/views/reader-fields.ts';

/** The digest of who goes to some nights, one a day: riders of one letter, all marked alike. */
function digestOf(...nights: string[]): string {
  const bits = goingBits.follows | goingBits.close;
  const fields = nights.map((riders, first) => {
    const text = encodeGoing([...riders].map((rider) => ({ ride: 'loop', rider, bits })));
    return { kind: 'f', first, value: Buffer.from(text) } as const;
  });
  const views = new NamedViews();
  new Goings(fields, views, () => true);
  return views.digest(0);
}

// docs/rules.md#etag
it('who goes where is told apart, of the same riders and nights', () => {
  const worlds = [
    ...[digestOf('b', 'a', 'a', 'bd'), digestOf('b', 'a', 'ab', 'd')],
    ...[digestOf('b', 'a', 'bd'), digestOf('b', 'ab', 'd'), digestOf('ab', 'a'), digestOf('ab', 'b')],
  ];
  expect(new Set(worlds).size).toBe(6);
});
