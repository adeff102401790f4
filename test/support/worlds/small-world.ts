import {
  district,
  evening,
  gone,
  liveKey as keyRecord,
  marks,
  metro,
  night,
  place,
  ride,
  rider,
  says,
} from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';

/** A few records that every operation finds something in, and things that are there no more. */

const liveKey = `rck_${'L'.repeat(43)}`;
const deletedKey = `rck_${'D'.repeat(43)}`;

export const smallWorld = {
  nowMs: Date.parse(evening),
  liveKey,
  deletedKey,
  unknownKey: `rck_${'U'.repeat(43)}`,
  /** Follows bo, marked cy close, flagged cy, leads loop; goes to loop. */
  reader: 'ada',
  erasedRider: 'eve',
  day: '/metros/pdx/days/2015-06-13',
  emptyDay: '/metros/pdx/days/2015-06-20',
  ride: '/rides/loop',
  range: 'metro=pdx&from=2015-06-01&to=2015-06-30',
  records: [
    metro('pdx'),
    metro('quiet'),
    district('alameda'),
    keyRecord(liveKey, 'k1'),
    keyRecord(deletedKey, 'k2'),
    gone('developer-keys', 'k2'),
    rider('ada'),
    rider('bo'),
    rider('cy'),
    rider('eve'),
    gone('riders', 'eve'),
    ride('loop', { title: 'Loop 🚲', leaders: ['ada'], audience: 'ADULTS_21_PLUS', distance: 'UNDER_5' }),
    ride('cafe', { title: 'Café ride' }),
    ride('hidden', { posted: false }),
    night('loop', '2015-06-12'),
    night('loop', '2015-06-13', { meet_time: 68_400_000, ...place({ place_name: 'Fountain', district: 'alameda' }) }),
    night('loop', '2015-06-14'),
    night('cafe', '2015-06-13', place({ place_name: 'Lantern Yard', secret: true, district: 'alameda' })),
    says('ada', 'GOING', 'loop', '2015-06-13', true),
    says('bo', 'GOING', 'loop', '2015-06-13'),
    says('cy', 'CONFIRMED', 'loop', '2015-06-13'),
    says('eve', 'GOING', 'loop', '2015-06-13'),
    marks('ada', 'bo', 'follows'),
    marks('ada', 'cy', 'close', 'flagged'),
    marks('ada', 'eve', 'follows', 'flagged'),
  ] as LoggedRecord[],
};

/** Headers of the two credentials. */
export const withKey = (text = liveKey): Record<string, string> => ({ 'X-Api-Key': text });
export const withToken = (token = 'ada'): Record<string, string> => ({ Authorization: `Bearer ${token}` });

/** Every operation's path, with what opens it. */
export const everyOperation: readonly { name: string; path: string; headers: Record<string, string> }[] = [
  { name: 'getDay', path: smallWorld.day, headers: withKey() },
  { name: 'getRide', path: smallWorld.ride, headers: withKey() },
  { name: 'getMyNights', path: '/me/nights', headers: withToken() },
  { name: 'getKnown', path: `/me/known?${smallWorld.range}`, headers: withToken() },
  { name: 'getFriends', path: `/me/friends?${smallWorld.range}`, headers: withToken() },
  { name: 'getFlagged', path: `/me/flagged?${smallWorld.range}`, headers: withToken() },
  { name: 'getOpenApi', path: '/openapi.json', headers: {} },
];
export const publicOperations = everyOperation.slice(0, 2);
export const riderOperations = everyOperation.slice(2, 6);
