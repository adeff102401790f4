import fc from 'fast-check';
import { dayText } from '../../reference/dates.ts';
import type { CalendarRequest } from '../../reference/requests.ts';
import type { History } from './histories.ts';
import { weighted } from './record-arbs.ts';
import * as universe from './universe.ts';

/** Instants around the day a history plays around: near local midnights of its zones, and any other. */
export function clockArb(history: History): fc.Arbitrary<number> {
  const midnight = history.today * 86_400_000;
  const hoursWest = fc.constantFrom(2.5, 3.5, 7, 8, 10, 11, -13, -14, -5.75, 0, 12, -1, -2, -5.5);
  const around = fc.constantFrom(-60_000, -1, 0, 1, 999, 59_999, 60_000, 1_800_000);
  return fc.oneof(
    fc.tuple(hoursWest, around).map(([hours, off]) => midnight + hours * 3_600_000 + off),
    fc.integer({ min: midnight - 2 * 86_400_000, max: midnight + 3 * 86_400_000 }),
  );
}

/** One request in about twelve has a wrong input, or names what does not exist. */
export function requestArb(history: History): fc.Arbitrary<CalendarRequest> {
  return weighted([11, rightRequest(history)], [1, oddRequest(history)]);
}

/** Every plain request that the small universe has: for comparing two services answer by answer. */
export function everyRequest(history: History): CalendarRequest[] {
  const offsets = [...new Set(universe.nightSlots.map((slot) => slot.offset))];
  const days = offsets.map((offset) => dayText(history.today + offset));
  const ranges = [
    { from: dayText(history.today - 31), to: dayText(history.today) },
    { from: dayText(history.today), to: dayText(history.today + 31) },
  ];
  return [
    ...universe.metros.flatMap((metro) => days.map((day) => ({ operation: 'getDay' as const, metro, day }))),
    ...universe.rides.map((ride) => ({ operation: 'getRide' as const, ride })),
    ...universe.riders.flatMap((rider): CalendarRequest[] => [
      { operation: 'getMyNights', rider },
      ...universe.metros.flatMap((metro) =>
        ranges.flatMap(({ from, to }): CalendarRequest[] => [
          { operation: 'getKnown', rider, metro, from, to },
          { operation: 'getFriends', rider, metro, from, to },
          { operation: 'getFriends', rider, metro, from, to, closeFriendsOnly: 'true' },
          { operation: 'getFlagged', rider, metro, from, to },
        ]),
      ),
    ]),
  ];
}

const metro = weighted([6, fc.constant('portland')], [1, fc.constantFrom(...universe.metros)]);
const rider = fc.constantFrom(...universe.riders);

function rightRequest(history: History): fc.Arbitrary<CalendarRequest> {
  const day = weighted(
    [3, fc.constant(dayText(history.today))],
    [2, fc.constantFrom(...universe.nightSlots).map(({ offset }) => dayText(history.today + offset))],
  );
  // Mostly around the day itself, where most nights are.
  const range = fc.tuple(fc.integer({ min: -31, max: 1 }), fc.integer({ min: 0, max: 31 })).map(([first, last]) => ({
    from: dayText(history.today + first),
    to: dayText(history.today + Math.min(Math.max(first, last), first + 31)),
  }));
  return weighted(
    [
      3,
      fc
        .tuple(metro, day, filters)
        .map(([slug, date, filter]): CalendarRequest => ({ operation: 'getDay', metro: slug, day: date, ...filter })),
    ],
    [1, fc.constantFrom(...universe.rides).map((ride): CalendarRequest => ({ operation: 'getRide', ride }))],
    [1, rider.map((id): CalendarRequest => ({ operation: 'getMyNights', rider: id }))],
    [
      4,
      fc
        .tuple(fc.constantFrom('getKnown', 'getFriends', 'getFlagged'), rider, metro, range, closeFriendsOnly)
        .map(([operation, id, slug, dates, close]): CalendarRequest => {
          const request = { rider: id, metro: slug, ...dates };
          return operation === 'getFriends' ? { operation, ...request, ...close } : { operation, ...request };
        }),
    ],
  );
}

const closeFriendsOnly = fc.constantFrom<{ closeFriendsOnly?: string }>(
  {},
  { closeFriendsOnly: 'false' },
  { closeFriendsOnly: 'true' },
);

const someOf = (items: readonly string[]): fc.Arbitrary<string> =>
  fc.shuffledSubarray([...items], { minLength: 1, maxLength: 3 }).map((list) => list.join(','));
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  weighted([4, fc.constant(undefined)], [1, value]);

const searches = [
  'ride',
  'BIKE play',
  'ｂｉｋｅ',
  'café',
  'cafe fruh',
  'women’s',
  "women's ride",
  "'s",
  'womens',
  'lodz strasse',
  'aeo',
  'οδος',
  'İST',
  '🚲🚲',
  '  ',
  'colonel+park',
  'lantern',
  'fish',
  '12',
];

const filters = fc
  .record({
    q: rarely(fc.constantFrom(...searches)),
    far: rarely(someOf(['under_5', '5_to_10', '10_to_20', '20_to_40', 'over_40'])),
    who: rarely(someOf(['General', 'Family Friendly', '21+ Only'])),
    where: rarely(someOf([...universe.districts, 'atlantis'])),
  })
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));

/** Wrong inputs and names of nothing; no path segment that a client would resolve away, such as `..`. */
function oddRequest(history: History): fc.Arbitrary<CalendarRequest> {
  const today = dayText(history.today);
  const slug = fc.constantFrom('portland', 'atlantis', 'P', 'a', '', 'port land', 'a'.repeat(33), 'portland\n');
  const date = fc.constantFrom(today, '2026-02-30', '', '0000-12-31', '2026-1-01', `${today} `, '10000-01-01', 'today');
  const maybe = (text: fc.Arbitrary<string>): fc.Arbitrary<string | undefined> => fc.option(text, { nil: undefined });
  const until = maybe(
    fc.oneof(
      date,
      fc.integer({ min: -2, max: 40 }).map((days) => dayText(history.today + days)),
    ),
  );
  const list = fc.constantFrom(
    '',
    'under_5,',
    'under_5,under_5',
    'General,general',
    '21  Only,21+ Only',
    'Alameda',
    ',',
  );
  return fc.oneof(
    fc.record({
      operation: fc.constant('getDay' as const),
      metro: slug,
      day: date,
      q: maybe(fc.constantFrom('a', '🚲', '', 'ab', 'x'.repeat(201), '🚲'.repeat(200))),
      far: maybe(list),
      who: maybe(list),
      where: maybe(list),
    }),
    fc.record({
      operation: fc.constant('getRide' as const),
      ride: fc.constantFrom('abc', 'Ride1', '', 'unknown1', 'ride 1', 'r'.repeat(33), 'ride1\n'),
    }),
    fc.record({ operation: fc.constant('getMyNights' as const), rider: fc.constant(universe.nobody) }),
    fc.record({
      operation: fc.constant('getFriends' as const),
      rider,
      metro: maybe(slug),
      from: maybe(date),
      to: until,
      closeFriendsOnly: maybe(fc.constantFrom('true', 'True', '', '1')),
    }),
    fc.record({
      operation: fc.constantFrom('getKnown' as const, 'getFlagged' as const),
      rider,
      metro: maybe(slug),
      from: maybe(date),
      to: until,
    }),
  );
}
