import { describe, expect, it } from 'vitest';
import { district, gone, liveKey, metro, night, place, ride, rider, says } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { asked, nightsOn, takesKey, told } from './answerers.ts';

/**
 * One small example for each rule of public answers (docs/rules.md#calendar), held up to the service. Searching is in search.test.ts, a rider's own answers in riders-own.test.ts.
 */

const day = '2015-06-13';
const pdx = metro('pdx');
const oneNight = (some: LoggedRecord): LoggedRecord[] => [pdx, ride('loop1'), some];
const rides = (nights: { ride: string }[]): string[] => nights.map((found) => found.ride);
const getRide = { operation: 'getRide', ride: 'loop1' } as const;

// docs/rules.md#bytes
describe('bytes', () => {
  it('of a day have the keys in the interface’s order', async () => {
    const log = [
      pdx,
      district('alameda'),
      ride('loop1', { title: 'Bike "Play"' }),
      night('loop1', day, { meet_time: 68_400_000, ...place({ place_name: 'Park', district: 'alameda' }) }),
    ];
    expect(await asked(log, { operation: 'getDay', metro: 'pdx', day })).toEqual({
      status: 200,
      body:
        '{"metro":"pdx","day":"2015-06-13","nights":[{"ride":"loop1","title":"Bike \\"Play\\"","day":"2015-06-13",' +
        '"meet_time":"19:00","time_zone":"America/Los_Angeles","status":"on","cancellation_reason":null,"past":false,' +
        '"going_count":0,"meeting":{"withheld":false,"place_name":"Park","neighbourhood":"Alameda",' +
        '"neighbourhood_slug":"alameda"},"url":"https://x.example/loop1/2015-06-13"}]}',
    });
  });

  it('of a ride have the keys in the interface’s order', async () => {
    // docs/rules.md#empty-text
    expect(await asked([pdx, ride('loop1', { description: '' })], getRide)).toEqual({
      status: 200,
      body:
        '{"ride":"loop1","title":"A ride","description":null,"type":"loop","metro":"pdx","nights":[],' +
        '"url":"https://x.example/loop1"}',
    });
  });
});

// docs/rules.md#past
it.each([
  ['2015-06-13', false, '2015-06-14T06:59:59.999Z'],
  ['2015-06-13', true, '2015-06-14T07:00:00Z'],
  // Where the clock goes back over midnight, it is past no longer.
  ['2010-11-06', true, '2010-11-07T02:30:30Z', 'America/St_Johns'],
  ['2010-11-06', false, '2010-11-07T02:31:00Z', 'America/St_Johns'],
  ['0001-01-01', false, '-000004-06-13T20:00:00Z'],
  ['0987-06-13', true, '0987-06-15T00:00:00Z'],
])('a night on %s is past since midnight in the metro’s zone: %s at %s', async (...of) => {
  const [date, past, now, time_zone = 'America/Los_Angeles'] = of;
  const log = [metro('pdx', { time_zone }), ride('loop1'), night('loop1', date)];
  expect((await nightsOn(log, date, {}, now))[0]?.past).toBe(past);
});

it('going_count counts who is going or confirmed and exists', async () => {
  const log = [
    ...oneNight(night('loop1', day)),
    ...['r1', 'r2', 'r3'].map((id) => rider(id)),
    says('r1', 'GOING', 'loop1', day),
    says('r2', 'CONFIRMED', 'loop1', day),
    says('r3', 'NONE', 'loop1', day, true),
    says('r4', 'GOING', 'loop1', day),
  ];
  expect((await nightsOn(log, day))[0]?.going_count).toBe(2);
  expect((await nightsOn([...log, gone('riders', 'r1')], day))[0]?.going_count).toBe(1);
});

// docs/rules.md#posted, #absent-references
describe('a ride without a page', () => {
  const log = [pdx, ride('loop1'), night('loop1', day)];
  it.each([
    ['not posted', [...log, ride('loop1', { posted: false })]],
    ['no record', [...log, gone('rides', 'loop1')]],
    ['an unknown metro', [...log, ride('loop1', { metro: 'nowhere' })]],
  ])('has no nights either: %s', async (_why, changed) => {
    expect(await asked(changed, getRide)).toEqual({ status: 404, error: 'not_found', input: 'ride' });
    expect(await nightsOn(changed, day)).toEqual([]);
  });

  it('comes back with its metro', async () => {
    expect((await asked([...log, gone('metros', 'pdx')], getRide)).status).toBe(404);
    expect((await asked([...log, gone('metros', 'pdx'), pdx], getRide)).status).toBe(200);
  });
});

const nowhere = { withheld: false, place_name: null, neighbourhood: null, neighbourhood_slug: null };
const alameda = { ...nowhere, neighbourhood: 'Alameda', neighbourhood_slug: 'alameda' };
const inAlameda = { district: 'alameda' };
const secret = { place_name: 'Lantern Yard', district: 'alameda', secret: true };
const shown = { ...secret, show_neighbourhood: true };
const city = district('alameda', { kind: 'CITY' });
// docs/rules.md#secret-meeting, #secret-neighbourhood, #no-meeting, #neighbourhood, #unchecked-references, #empty-text
it.each<[string, Parameters<typeof place>[0] | null, LoggedRecord[], object]>([
  ['that is secret is withheld', secret, [district('alameda')], { ...nowhere, withheld: true }],
  ['whose leader chose so shows its neighbourhood', shown, [district('alameda')], { ...alameda, withheld: true }],
  ['that is open shows both whatever the leader chose', inAlameda, [district('alameda')], alameda],
  ['that a night has none of is not withheld', null, [], nowhere],
  ['with an empty name has none', { place_name: '' }, [], nowhere],
  ['in another metro’s district has that neighbourhood', inAlameda, [district('alameda', { metro: 'sfo' })], alameda],
  ['in a city has its name and no slug', inAlameda, [city], { ...alameda, neighbourhood_slug: null }],
  ['in an unknown district has neither', inAlameda, [], nowhere],
])('a meeting %s', async (_, where, districts, meeting) => {
  const log = [...oneNight(night('loop1', day, where ? place(where) : {})), ...districts];
  expect((await nightsOn(log, day))[0]?.meeting).toEqual(meeting);
});

// docs/rules.md#cancelled-nights, #cancellation-reason
it('a cancelled night is listed with its reason, and one that is on again has none', async () => {
  const log = oneNight(night('loop1', day, { status: 'CANCELLED', cancellation_reason: 'Thunder' }));
  expect((await nightsOn(log, day))[0]).toMatchObject({ status: 'cancelled', cancellation_reason: 'Thunder' });
  const again = oneNight(night('loop1', day, { cancellation_reason: 'Thunder' }));
  expect((await nightsOn(again, day))[0]).toMatchObject({ status: 'on', cancellation_reason: null });
  // docs/rules.md#empty-text
  const wordless = oneNight(night('loop1', day, { status: 'CANCELLED', cancellation_reason: '' }));
  expect((await nightsOn(wordless, day))[0]).toMatchObject({ status: 'cancelled', cancellation_reason: null });
});

// docs/rules.md#order-of-nights
describe('the order of nights', () => {
  const titled = (id: string, title: string, meet_time: number | null = null): LoggedRecord[] => [
    ride(id, { title }),
    night(id, day, { meet_time }),
  ];

  it('is by time, none last', async () => {
    const log = [pdx, ...titled('aaaa', 'A'), ...titled('bbbb', 'B', 60_000), ...titled('cccc', 'C', 0)];
    expect(rides(await nightsOn(log, day))).toEqual(['cccc', 'bbbb', 'aaaa']);
  });

  // docs/rules.md#meet-time
  it('knows no seconds', async () => {
    const log = [pdx, ...titled('aaaa', 'B', 60_000), ...titled('bbbb', 'A', 119_999)];
    expect(rides(await nightsOn(log, day))).toEqual(['bbbb', 'aaaa']);
  });

  // docs/rules.md#comparing-text
  it('is by title in code points, then by id', async () => {
    const log = [...titled('aaaa', '🚲'), ...titled('bbbb', '～'), ...titled('dddd', 'Z'), ...titled('cccc', 'Z')];
    expect(rides(await nightsOn([pdx, ...log], day))).toEqual(['cccc', 'dddd', 'bbbb', 'aaaa']);
  });

  // docs/rules.md#nights-of-a-ride
  it('of a ride is by day, every date of it', async () => {
    const dates = ['2015-06-13', '0001-01-01', '9999-12-31'];
    const log = [pdx, ride('loop1'), ...dates.map((date) => night('loop1', date))];
    const found: { day: string }[] = (await told(log, getRide)).nights;
    expect(found.map((listed) => listed.day)).toEqual(['0001-01-01', '2015-06-13', '9999-12-31']);
  });
});

// docs/rules.md#developer-keys
it('a developer key is live while any current record has its hash', async () => {
  const log = [liveKey('abc', 'k1'), liveKey('abc', 'k2')];
  expect(await takesKey(log, 'abc')).toBe(true);
  expect(await takesKey([...log, gone('developer-keys', 'k1')], 'abc')).toBe(true);
  expect(await takesKey([...log, gone('developer-keys', 'k1'), liveKey('other', 'k2')], 'abc')).toBe(false);
});
