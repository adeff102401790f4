import { beforeAll, expect, it } from 'vitest';
import type { HistoryRecord } from '../support/worlds/histories.ts';
import { portlandKeys, readPortland } from '../support/worlds/portland.ts';
import { secretMark } from '../support/worlds/universe.ts';
import { answer, isLive } from './answers.ts';
import { dayText } from './dates.ts';
import { badness, type Facts, latestRecords } from './facts.ts';
import type { NightAnswer } from './nights.ts';
import type { CalendarRequest } from './requests.ts';

/** What the notes of the archive say of it (test/data/README.md), found again by the reference. */

let records: HistoryRecord[];
let facts: Facts;

beforeAll(async () => {
  records = await readPortland();
  facts = latestRecords(records);
});

const ask = (request: CalendarRequest) => answer(facts, Date.parse('2015-06-13T19:00:00Z'), request);

function nightsOf(request: CalendarRequest): NightAnswer[] {
  const found = ask(request);
  return found.status === 200 ? JSON.parse(found.body).nights : [];
}

it('the log of Portland has four bad records, three erased riders and a deleted key', () => {
  expect(records.map((record) => badness(record)).filter((reason) => reason !== null)).toEqual([
    'key off its pattern',
    'no such time zone',
    'key disagrees with value',
    'a rider related to themself',
  ]);
  const kinds = [...facts.districts.values()].map((district) => district.kind);
  expect([kinds.length, kinds.filter((kind) => kind === 'CITY').length, facts.riders.size]).toEqual([68, 5, 597]);
  for (const erased of ['r0007', 'r0133', 'r0404'])
    expect(ask({ operation: 'getMyNights', rider: erased })).toEqual({ status: 401 });
  expect([isLive(facts, portlandKeys.live), isLive(facts, portlandKeys.deleted)]).toEqual([true, false]);
});

it('its days and its rides show the same 349 nights, and never a secret place', () => {
  const days = [...new Set([...facts.nights.values()].map(({ day }) => dayText(day)))];
  const ofDays = days.flatMap((day) => nightsOf({ operation: 'getDay', metro: 'portland', day }));
  const years = Map.groupBy(ofDays, ({ ride }) => ride.slice(0, 4));
  expect([...years].map(([series, found]) => [series, found.length])).toEqual([
    ['pp15', 252],
    ['sh20', 22],
    ['rw26', 75],
  ]);
  const posted = [...facts.rides.keys()].filter((ride) => ask({ operation: 'getRide', ride }).status === 200);
  expect([posted.length, posted.includes('draft001')]).toEqual([254, false]);
  const texts = (nights: NightAnswer[]): string[] => nights.map((night) => JSON.stringify(night)).toSorted();
  expect(texts(posted.flatMap((ride) => nightsOf({ operation: 'getRide', ride })))).toEqual(texts(ofDays));
  expect(JSON.stringify(records)).toContain(secretMark);
  expect(texts(ofDays).join()).not.toContain(secretMark);
});

it('2015-06-13 has 17 nights, two of them withheld and one of these with its neighbourhood', () => {
  const nights = nightsOf({ operation: 'getDay', metro: 'portland', day: '2015-06-13' });
  expect([nights.length, nights.some(({ past }) => past)]).toEqual([17, false]);
  const withheld = nights.filter(({ meeting }) => meeting.withheld);
  expect(withheld.map(({ meeting }) => meeting.neighbourhood)).toEqual([null, 'Irvington']);
});

it('two rides were called off, and r0020 has nights, friends and flags', () => {
  for (const ride of ['sh20r6756', 'sh20r7978'])
    expect(nightsOf({ operation: 'getRide', ride }).some(({ status }) => status === 'cancelled')).toBe(true);
  const range = { rider: 'r0020', metro: 'portland', from: '2015-06-06', to: '2015-06-20' };
  for (const operation of ['getMyNights', 'getKnown', 'getFriends', 'getFlagged'] as const)
    expect(nightsOf({ operation, ...range })).not.toHaveLength(0);
});
