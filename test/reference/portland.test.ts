import { beforeAll, describe, expect, it } from 'vitest';
import type { HistoryRecord } from '../support/worlds/histories.ts';
import { portlandKeys, readPortland } from '../support/worlds/portland.ts';
import { secretMark } from '../support/worlds/universe.ts';
import { answer, isLive } from './answers.ts';
import { dayText } from './dates.ts';
import { badness, type Facts, latestRecords } from './facts.ts';
import type { NightAnswer } from './nights.ts';
import type { CalendarRequest } from './requests.ts';

/** What the archive's own notes say of it, found again by the reference. */

const now = Date.parse('2015-06-13T19:00:00Z');
let records: HistoryRecord[];
let facts: Facts;

beforeAll(async () => {
  records = await readPortland();
  facts = latestRecords(records);
});

function body(request: CalendarRequest): string {
  const found = answer(facts, now, request);
  if (found.status !== 200) throw new Error(`Cannot read the answer to ${request.operation}: it is ${found.status}.`);
  return found.body;
}

const nightsOf = (request: CalendarRequest): NightAnswer[] => JSON.parse(body(request)).nights;

function everyDay(): NightAnswer[] {
  const days = new Set([...facts.nights.values()].map((night) => dayText(night.day)));
  return [...days].flatMap((day) => nightsOf({ operation: 'getDay', metro: 'portland', day }));
}

describe('the log of Portland', () => {
  it('has four bad records', () => {
    expect(records.map((record) => badness(record)).filter((reason) => reason !== null)).toEqual([
      'key off its pattern',
      'no such time zone',
      'key disagrees with value',
      'a rider related to themself',
    ]);
  });

  it('has 63 neighbourhoods and 5 cities', () => {
    const kinds = [...facts.districts.values()].map((district) => district.kind);
    expect(kinds.filter((kind) => kind === 'DISTRICT')).toHaveLength(63);
    expect(kinds.filter((kind) => kind === 'CITY')).toHaveLength(5);
  });

  it('has three riders of 600 erased', () => {
    expect(facts.riders.size).toBe(597);
    for (const erased of ['r0007', 'r0133', 'r0404']) {
      expect(facts.riders.has(erased)).toBe(false);
      expect(answer(facts, now, { operation: 'getMyNights', rider: erased })).toEqual({ status: 401 });
    }
  });

  it('has one key live and one deleted', () => {
    expect(isLive(facts, portlandKeys.live)).toBe(true);
    expect(isLive(facts, portlandKeys.deleted)).toBe(false);
  });
});

describe('the calendar of Portland', () => {
  it('shows 349 nights: 252 of 2015, 22 of 2020, 75 of 2026', () => {
    const nights = everyDay();
    expect(nights).toHaveLength(349);
    const years = Map.groupBy(nights, (night) => night.ride.slice(0, 4));
    expect([...years].map(([series, found]) => [series, found.length])).toEqual([
      ['pp15', 252],
      ['sh20', 22],
      ['rw26', 75],
    ]);
  });

  it('shows the same nights on the pages of 254 rides', () => {
    const pages = [...facts.rides.keys()].map((ride) => answer(facts, now, { operation: 'getRide', ride }));
    const shown = pages.filter((page) => page.status === 200);
    expect(shown).toHaveLength(254);
    const ofPages = shown.flatMap((page) => JSON.parse(page.body).nights as NightAnswer[]);
    const texts = (nights: NightAnswer[]): string[] => nights.map((night) => JSON.stringify(night)).toSorted();
    expect(texts(ofPages)).toEqual(texts(everyDay()));
  });

  it('has no page of the ride that is not posted', () => {
    expect(answer(facts, now, { operation: 'getRide', ride: 'draft001' }).status).toBe(404);
  });

  it('has 17 nights on 2015-06-13, two withheld and one of them with its neighbourhood', () => {
    const nights = nightsOf({ operation: 'getDay', metro: 'portland', day: '2015-06-13' });
    expect(nights).toHaveLength(17);
    const withheld = nights.filter((night) => night.meeting.withheld);
    expect(withheld).toHaveLength(2);
    expect(withheld.map((night) => night.meeting.neighbourhood)).toEqual([null, 'Irvington']);
    expect(nights.every((night) => !night.past)).toBe(true);
  });

  it.each(['sh20r6756', 'sh20r7978'])('lists a ride that was called off as cancelled: %s', (ride) => {
    expect(nightsOf({ operation: 'getRide', ride }).some((night) => night.status === 'cancelled')).toBe(true);
  });

  it('has nights, friends and flags for r0020', () => {
    const range = { rider: 'r0020', metro: 'portland', from: '2015-06-06', to: '2015-06-20' };
    for (const operation of ['getMyNights', 'getKnown', 'getFriends', 'getFlagged'] as const) {
      expect(nightsOf({ operation, ...range })).not.toHaveLength(0);
    }
  });

  it('never names a secret place', () => {
    expect(JSON.stringify(records)).toContain(secretMark);
    const range = { rider: 'r0020', metro: 'portland', from: '2015-06-01', to: '2015-07-02' };
    const bodies = [
      JSON.stringify(everyDay()),
      ...[...facts.rides.keys()].map((ride) => JSON.stringify(answer(facts, now, { operation: 'getRide', ride }))),
      body({ operation: 'getFriends', ...range }),
      body({ operation: 'getMyNights', rider: 'r0020' }),
    ].join('\n');
    expect(bodies).not.toContain(secretMark);
  });
});
