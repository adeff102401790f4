import { expect, it } from 'vitest';
import { ViewCache } from '../../../../api/calendar/views/view-cache.ts';
import { factsViewReader } from '../../../../services/past/answers/facts-view-reader.ts';
import { liveliestRiders, riderDirectory } from '../../../../services/serve/sign-in/views-rider-directory.ts';
import { gone, marks, metro, night, ride, rider, says } from '../../../reference/example-log.ts';
import { foldOf } from '../../../support/stores/rendered-views.ts';

it('the riders to pick from are those who follow and flagged somebody first, then those with the most RSVPs, each with what there is to see; who was erased is nobody', async () => {
  const days = ['2015-06-13', '2015-06-14'];
  const { facts } = foldOf([
    ...[metro('pdx'), ride('loop', { leaders: ['ada'] }), ...days.map((day) => night('loop', day))],
    ...['ada', 'bo', 'cy', 'di', 'ed'].map((id) => rider(id, id === 'cy' ? { name: '' } : {})),
    ...[marks('ada', 'bo', 'flagged'), marks('ada', 'cy', 'follows', 'close'), marks('ada', 'di', 'follows')],
    ...days.flatMap((day) => ['bo', 'ed'].map((who) => says(who, 'GOING', 'loop', day))),
    ...[says('cy', 'GOING', 'loop', days[0]!), gone('riders', 'ed')],
  ]);
  expect(liveliestRiders(facts, 3)).toEqual([
    { rider: 'ada', handle: 'h-ada', name: 'ada', sees: 'follows 2, 1 close friend, 1 flagged, 0 RSVPs, leads 1 ride' },
    { rider: 'bo', handle: 'h-bo', name: 'bo', sees: 'follows 0, 0 close friends, 0 flagged, 2 RSVPs, leads 0 rides' },
    { rider: 'cy', handle: 'h-cy', name: null, sees: 'follows 0, 0 close friends, 0 flagged, 1 RSVP, leads 0 rides' },
  ]);
  const directory = riderDirectory(new ViewCache(factsViewReader(facts)), () => []);
  const cards = await Promise.all(['bo', 'cy', 'ed', 'nobody'].map((id) => directory.card(id)));
  expect(cards).toEqual([{ handle: 'h-bo', name: 'bo' }, { handle: 'h-cy', name: null }, null, null]);
});
