import { expect, it } from 'vitest';
import { liveliestRiders } from '../../../../services/serve/sign-in/views-rider-directory.ts';
import { gone, marks, metro, night, ride, rider, says } from '../../../reference/example-log.ts';
import { foldOf } from '../../../support/stores/rendered-views.ts';

it('the riders to pick from are those who follow and flagged somebody first, then those with the most RSVPs, each with what there is to see', () => {
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
});
