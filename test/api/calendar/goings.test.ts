import { expect, it } from 'vitest';
import { Goings } from '../../../api/calendar/goings.ts';
import { NamedViews, type NightView, type RiderView } from '../../../api/calendar/views/named-views.ts';
import { encodeGoing } from '../../../schemas/views/reader-fields.ts';

const field = (first: number, ...goings: [ride: string, rider: string, bits: number][]) => ({
  first,
  value: Buffer.from(encodeGoing(goings.map(([ride, rider, bits]) => ({ ride, rider, bits })))),
});

it('who goes to a night is listed in the order of riders, without nights and riders that no longer exist', () => {
  const views = new NamedViews();
  const fields = [
    field(3, ['aaaa', 'r1', 1], ['aaaa', 'r2', 2], ['bbbb', 'r2', 4]),
    field(4, ['aaaa', 'r3', 1], ['left', 'r1', 1], ['left', 'r4', 1], ['none', 'r1', 1]),
  ];
  const goings = new Goings(fields, views, (ride, day) => (ride === 'left' ? undefined : views.night(ride, day)));
  for (const [ride, day] of [
    ['aaaa', 3],
    ['bbbb', 3],
    ['aaaa', 4],
  ] as const) {
    views.night(ride, day).view = { ride, day, sort: [null, '', ride] } as unknown as NightView;
  }
  // r3 is gone, r4 is named only where the night is left out, and `none` is gone.
  for (const [id, sort] of Object.entries({ r1: 'b', r2: 'a', r4: 'c' })) {
    views.rider(id).card = { sort, handle: id } as RiderView;
  }
  const gathered = goings.gather(() => true);
  expect(
    gathered.map(({ night, cards, bits }) => [night.ride, night.day, cards.map(({ handle }) => handle), bits]),
  ).toEqual([
    ['aaaa', 3, ['r2', 'r1'], [2, 1]],
    ['bbbb', 3, ['r2'], [4]],
  ]);
  expect(goings.gather(({ ride }) => ride === 'bbbb').map(({ night }) => night.ride)).toEqual(['bbbb']);
  expect(views.night('aaaa', 3)).toBe(views.night('aaaa', 3));
  expect(views.rider('r1')).toBe(views.rider('r1'));
});
