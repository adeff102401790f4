import { describe, expect, it } from 'vitest';
import { isLive } from './answers.ts';
import { asked, district, gone, metro, night, nightsOn, place, ride, rider, says, told } from './example-log.ts';
import { type LoggedRecord, latestRecords } from './facts.ts';

/** One small example for each rule of public answers (docs/rules.md); the rider's own are in rider-answers.test.ts. */

const day = '2015-06-13';
const pdx = metro('pdx');
const oneNight = (some: LoggedRecord): LoggedRecord[] => [pdx, ride('loop1'), some];
const rides = (nights: { ride: string }[]): string[] => nights.map((found) => found.ride);
const getRide = { operation: 'getRide', ride: 'loop1' } as const;

// docs/rules.md#bytes
describe('bytes', () => {
  it('of a day have the keys in the interface’s order', () => {
    const log = [
      pdx,
      district('alameda'),
      ride('loop1', { title: 'Bike "Play"' }),
      night('loop1', day, { meet_time: 68_400_000, ...place({ place_name: 'Park', district: 'alameda' }) }),
    ];
    expect(asked(log, { operation: 'getDay', metro: 'pdx', day })).toEqual({
      status: 200,
      body:
        '{"metro":"pdx","day":"2015-06-13","nights":[{"ride":"loop1","title":"Bike \\"Play\\"","day":"2015-06-13",' +
        '"meet_time":"19:00","time_zone":"America/Los_Angeles","status":"on","cancellation_reason":null,"past":false,' +
        '"going_count":0,"meeting":{"withheld":false,"place_name":"Park","neighbourhood":"Alameda",' +
        '"neighbourhood_slug":"alameda"},"url":"https://x.example/loop1/2015-06-13"}]}',
    });
  });

  it('of a ride have the keys in the interface’s order', () => {
    expect(asked([pdx, ride('loop1')], getRide)).toEqual({
      status: 200,
      body:
        '{"ride":"loop1","title":"A ride","description":null,"type":"loop","metro":"pdx","nights":[],' +
        '"url":"https://x.example/loop1"}',
    });
  });
});

// docs/rules.md#past
describe('past', () => {
  it('turns at midnight in the metro’s zone', () => {
    const log = oneNight(night('loop1', day));
    expect(nightsOn(log, day, {}, '2015-06-14T06:59:59.999Z')[0]?.past).toBe(false);
    expect(nightsOn(log, day, {}, '2015-06-14T07:00:00Z')[0]?.past).toBe(true);
  });

  it('turns back where the clock goes back over midnight', () => {
    const log = [metro('pdx', { time_zone: 'America/St_Johns' }), ride('loop1'), night('loop1', '2010-11-06')];
    const pastAt = (now: string): boolean | undefined => nightsOn(log, '2010-11-06', {}, now)[0]?.past;
    expect(pastAt('2010-11-07T02:30:30Z')).toBe(true);
    expect(pastAt('2010-11-07T02:31:00Z')).toBe(false);
    expect(pastAt('2010-11-07T03:30:00Z')).toBe(true);
  });

  it('is told in years before the first', () => {
    const log = oneNight(night('loop1', '0001-01-01'));
    expect(nightsOn(log, '0001-01-01', {}, '-000004-06-13T20:00:00Z')[0]?.past).toBe(false);
  });

  it('is told in years of three digits', () => {
    const log = oneNight(night('loop1', '0987-06-13'));
    expect(nightsOn(log, '0987-06-13', {}, '0987-06-13T20:00:00Z')[0]?.past).toBe(false);
    expect(nightsOn(log, '0987-06-13', {}, '0987-06-15T00:00:00Z')[0]?.past).toBe(true);
  });
});

// docs/rules.md#going-count, #going
describe('going_count', () => {
  it('counts who is going or confirmed and exists', () => {
    const answers = [
      says('r1', 'GOING', 'loop1', day),
      says('r2', 'CONFIRMED', 'loop1', day),
      says('r3', 'NONE', 'loop1', day, true),
      says('r4', 'GOING', 'loop1', day),
      says('r5', 'GOING', 'loop1', '2015-06-14'),
    ];
    const log = [...oneNight(night('loop1', day)), ...answers, ...['r1', 'r2', 'r3', 'r5'].map((id) => rider(id))];
    expect(nightsOn(log, day)[0]?.going_count).toBe(2);
    expect(nightsOn([...log, gone('riders', 'r1')], day)[0]?.going_count).toBe(1);
    expect(nightsOn([...log, gone('riders', 'r1'), rider('r1')], day)[0]?.going_count).toBe(2);
  });
});

// docs/rules.md#posted, #absent-references
describe('a ride without a page', () => {
  const log = [pdx, ride('loop1'), night('loop1', day)];
  it.each([
    ['not posted', [...log, ride('loop1', { posted: false })]],
    ['no record', [...log, gone('rides', 'loop1')]],
    ['an unknown metro', [...log, ride('loop1', { metro: 'nowhere' })]],
  ])('has no nights either: %s', (_why, changed) => {
    expect(asked(changed, getRide)).toEqual({ status: 404, error: 'not_found', input: 'ride' });
    expect(nightsOn(changed, day)).toEqual([]);
  });

  it('comes back with its metro', () => {
    expect(asked([...log, gone('metros', 'pdx')], getRide).status).toBe(404);
    expect(asked([...log, gone('metros', 'pdx'), pdx], getRide).status).toBe(200);
  });
});

describe('a meeting', () => {
  const meetingOf = (some: Parameters<typeof place>[0], ...more: LoggedRecord[]) =>
    nightsOn([...oneNight(night('loop1', day, place(some))), ...more], day)[0]?.meeting;
  const nowhere = { neighbourhood: null, neighbourhood_slug: null };
  const alameda = { neighbourhood: 'Alameda', neighbourhood_slug: 'alameda' };
  const secret = { place_name: 'Lantern Yard', district: 'alameda', secret: true };

  // docs/rules.md#secret-meeting
  it('that is secret is withheld', () => {
    expect(meetingOf(secret, district('alameda'))).toEqual({ withheld: true, place_name: null, ...nowhere });
  });

  // docs/rules.md#secret-neighbourhood
  it('that is secret shows its neighbourhood and slug where the leader chose to', () => {
    const shown = { ...secret, show_neighbourhood: true };
    expect(meetingOf(shown, district('alameda'))).toEqual({ withheld: true, place_name: null, ...alameda });
  });

  // docs/rules.md#secret-neighbourhood
  it('that is open shows its neighbourhood whatever the leader chose', () => {
    const open = { place_name: 'Park', district: 'alameda' };
    expect(meetingOf(open, district('alameda'))).toEqual({ withheld: false, place_name: 'Park', ...alameda });
  });

  // docs/rules.md#no-meeting
  it('that a night has none of is not withheld', () => {
    const found = nightsOn(oneNight(night('loop1', day)), day)[0]?.meeting;
    expect(found).toEqual({ withheld: false, place_name: null, ...nowhere });
  });

  // docs/rules.md#neighbourhood
  it('in another metro’s district has that neighbourhood', () => {
    expect(meetingOf({ district: 'alameda' }, district('alameda', { metro: 'sfo' }))).toMatchObject(alameda);
  });

  // docs/rules.md#neighbourhood
  it('in a city has its name and no slug', () => {
    const city = district('alameda', { kind: 'CITY' });
    expect(meetingOf({ district: 'alameda' }, city)).toMatchObject({ ...alameda, neighbourhood_slug: null });
  });

  // docs/rules.md#neighbourhood, #unchecked-references
  it('in an unknown district has no neighbourhood', () => {
    expect(meetingOf({ district: 'alameda' })).toMatchObject(nowhere);
  });
});

// docs/rules.md#cancelled-nights, #cancellation-reason
describe('a cancelled night', () => {
  it('is listed with its reason', () => {
    const log = oneNight(night('loop1', day, { status: 'CANCELLED', cancellation_reason: 'Thunder' }));
    expect(nightsOn(log, day)[0]).toMatchObject({ status: 'cancelled', cancellation_reason: 'Thunder' });
  });

  it('that is on again has a reason no more', () => {
    const log = oneNight(night('loop1', day, { cancellation_reason: 'Thunder' }));
    expect(nightsOn(log, day)[0]).toMatchObject({ status: 'on', cancellation_reason: null });
  });
});

// docs/rules.md#order-of-nights
describe('the order of nights', () => {
  const titled = (id: string, title: string, meet_time: number | null = null): LoggedRecord[] => [
    ride(id, { title }),
    night(id, day, { meet_time }),
  ];

  it('is by time, none last', () => {
    const log = [pdx, ...titled('aaaa', 'A'), ...titled('bbbb', 'B', 60_000), ...titled('cccc', 'C', 0)];
    expect(rides(nightsOn(log, day))).toEqual(['cccc', 'bbbb', 'aaaa']);
  });

  // docs/rules.md#meet-time
  it('knows no seconds', () => {
    const log = [pdx, ...titled('aaaa', 'B', 60_000), ...titled('bbbb', 'A', 119_999)];
    expect(rides(nightsOn(log, day))).toEqual(['bbbb', 'aaaa']);
  });

  // docs/rules.md#comparing-text
  it('is by title in code points, then by id', () => {
    const log = [pdx, ...titled('aaaa', '🚲'), ...titled('bbbb', '～'), ...titled('dddd', 'Z'), ...titled('cccc', 'Z')];
    expect(rides(nightsOn(log, day))).toEqual(['cccc', 'dddd', 'bbbb', 'aaaa']);
  });

  // docs/rules.md#nights-of-a-ride
  it('of a ride is by day, every date of it', () => {
    const dates = ['2015-06-13', '0001-01-01', '9999-12-31'];
    const log = [pdx, ride('loop1'), ...dates.map((date) => night('loop1', date))];
    const found: { day: string }[] = told(log, getRide).nights;
    expect(found.map((listed) => listed.day)).toEqual(['0001-01-01', '2015-06-13', '9999-12-31']);
  });
});

// docs/rules.md#q, #folded-text
describe('q', () => {
  const finds = (title: string, q: string, where: Parameters<typeof place>[0] = {}): boolean =>
    nightsOn([pdx, ride('loop1', { title }), night('loop1', day, place(where))], day, { q }).length > 0;

  it.each([
    ['CAFE', 'Café ride'],
    ['café', 'CAFE\u0301 RIDE'],
    ["women's", 'Women’s ride'],
    ['women’s', "Women's ride"],
    ['bike', 'Ｂｉｋｅ ride'],
    ['ride caf', 'Café ride'],
    ['οδος', 'ΟΔΟΣ'],
    ['οδοσ', 'οδος'],
    ['istanbul', 'İSTANBUL'],
    ['ﬁsh', 'Fish'],
    ['ride-café!', 'Café ride'],
  ])('%s finds %s', (q, title) => {
    expect(finds(title, q)).toBe(true);
  });

  it('needs every word, each in the title or the place', () => {
    expect(finds('Café ride', 'cafe park', { place_name: 'Big Park' })).toBe(true);
    expect(finds('Café ride', 'cafe park zoo', { place_name: 'Big Park' })).toBe(false);
  });

  it('never finds a word across title and place', () => {
    expect(finds('Cafe', 'febig', { place_name: 'Big Park' })).toBe(false);
  });

  // docs/rules.md#secret-meeting
  it('never finds a secret place', () => {
    expect(finds('Ride', 'lantern', { place_name: 'Lantern Yard', secret: true })).toBe(false);
    expect(finds('Ride', 'lantern', { place_name: 'Lantern Yard' })).toBe(true);
  });

  it('without a word finds all nights', () => {
    expect(finds('Ride', '  🚲?')).toBe(true);
  });

  it('keeps the apostrophe in a word', () => {
    expect(finds('Womens ride', "women's")).toBe(false);
  });
});

// docs/rules.md#filters, #far, #who, #where, #plus-sign
describe('filters', () => {
  const log = [
    pdx,
    district('alameda'),
    district('alameda-2'),
    district('town', { kind: 'CITY' }),
    ride('near', { distance: 'UNDER_5', audience: 'ADULTS_21_PLUS' }),
    ride('farr', { distance: 'OVER_40', audience: 'GENERAL' }),
    ride('open'),
    night('near', day, place({ district: 'alameda' })),
    night('farr', day, place({ district: 'alameda-2' })),
    night('open', day, place({ district: 'alameda', secret: true, show_neighbourhood: true })),
    ride('city'),
    night('city', day, place({ district: 'town' })),
  ];
  it.each([
    [{ far: 'under_5' }, ['city', 'near', 'open']],
    [{ far: 'over_40,under_5' }, ['city', 'farr', 'near', 'open']],
    [{ far: '5_to_10' }, ['city', 'open']],
    [{ who: '21+ Only' }, ['city', 'near', 'open']],
    [{ who: '21  Only' }, ['city', 'near', 'open']],
    [{ who: 'Family Friendly' }, ['city', 'open']],
    [{ who: 'General', far: 'under_5' }, ['city', 'open']],
    [{ where: 'alameda' }, ['near']],
    [{ where: 'alameda,alameda-2' }, ['farr', 'near']],
    [{ where: 'town' }, []],
    [{ where: 'nowhere' }, []],
  ])('%j', (filters, found) => {
    expect(rides(nightsOn(log, day, filters))).toEqual(found);
  });
});

// docs/rules.md#length-of-q, #lists
describe('inputs', () => {
  const refusedFor = (filters: object, path = { metro: 'pdx', day }): unknown => {
    const found = asked([pdx], { operation: 'getDay', ...path, ...filters });
    return 'input' in found ? [found.status, found.input] : found.status;
  };
  it.each([
    [{ q: 'a' }, [400, 'q']],
    [{ q: '🚲' }, [400, 'q']],
    [{ q: '🚲'.repeat(200) }, 200],
    [{ q: 'a'.repeat(201) }, [400, 'q']],
    [{ q: '  ' }, 200],
    [{ far: '' }, [400, 'far']],
    [{ far: 'under_5,' }, [400, 'far']],
    [{ far: 'under_5,under_5' }, [400, 'far']],
    [{ far: 'OVER_40' }, [400, 'far']],
    [{ who: '21+ Only,21  Only' }, [400, 'who']],
    [{ where: 'Alameda' }, [400, 'where']],
    [{ where: 'a', q: 'a', far: '' }, [400, 'q']],
  ])('of a day: %j', (filters, expected) => {
    expect(refusedFor(filters)).toEqual(expected);
  });

  // docs/rules.md#order-of-inputs, #unknown-metro
  it('of the path come first, then whether the metro exists', () => {
    expect(refusedFor({ q: 'a' }, { metro: 'PDX', day: 'x' })).toEqual([400, 'metro']);
    expect(refusedFor({ q: 'a' }, { metro: 'sfo', day: '2026-02-30' })).toEqual([400, 'day']);
    expect(refusedFor({ q: 'a' }, { metro: 'sfo', day })).toEqual([400, 'q']);
    expect(refusedFor({}, { metro: 'sfo', day })).toEqual([404, 'metro']);
  });

  // docs/rules.md#dates
  it('that is no date has the interface’s words', () => {
    expect(asked([pdx], { operation: 'getDay', metro: 'pdx', day: '2026-02-30' })).toEqual({
      status: 400,
      error: 'invalid_request',
      input: 'day',
      detail: 'is not a date, YYYY-MM-DD',
    });
  });
});

// docs/rules.md#developer-keys
describe('a developer key', () => {
  const hash = Buffer.from('9b7f17d6c3b7f9a2b6ae0b1e3ab5c3bb2d7e2c0fce9d3f3c0fb4b2f9e7c7f6a1', 'hex');
  const key = (id: string, key_hash: Buffer): LoggedRecord => ({
    topic: 'developer-keys',
    key: id,
    value: { key_id: id, key_hash, label: null, revision: 1, changed_at: 0 },
  });
  // SHA-256 of `abc`, from FIPS 180-2.
  const ofAbc = Buffer.from('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', 'hex');

  it('is live while any current record has its hash', () => {
    const log = [key('k1', ofAbc), key('k2', ofAbc), key('k3', hash)];
    expect(isLive(latestRecords(log), 'abc')).toBe(true);
    expect(isLive(latestRecords([...log, gone('developer-keys', 'k1')]), 'abc')).toBe(true);
    expect(isLive(latestRecords([...log, gone('developer-keys', 'k1'), key('k2', hash)]), 'abc')).toBe(false);
  });
});
