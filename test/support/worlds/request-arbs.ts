import fc from 'fast-check';
import { dayText } from '../../reference/dates.ts';
import type { CalendarRequest, MetroRange } from '../../reference/requests.ts';
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

/** Mostly right; else wrong, or the name of nothing. */
const odd = <T>(right: fc.Arbitrary<T>, ...wrong: T[]): fc.Arbitrary<T> =>
  weighted([40, right], [1, fc.constantFrom(...wrong)]);
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  weighted([4, fc.constant(undefined)], [1, value]);
const list = (...items: readonly string[]): fc.Arbitrary<string | undefined> => {
  const some = fc.shuffledSubarray([...items], { minLength: 1, maxLength: 3 }).map((found) => found.join(','));
  return rarely(odd(some, '', 'under_5,', 'under_5,under_5', 'General,general', '21  Only,21+ Only', 'Alameda', ','));
};

/** One request in about twelve has a wrong input, or names what does not exist; no path segment that a client would resolve away, such as `..`. */
export function requestArb({ today }: History): fc.Arbitrary<CalendarRequest> {
  const date = (days: number): string => dayText(today + days);
  const wrongSlugs = ['atlantis', 'P', 'a', '', 'port land', 'a'.repeat(33), 'portland\n'];
  const wrongRides = ['abc', 'Ride1', '', 'unknown1', 'ride 1', 'r'.repeat(33), 'ride1\n'];
  const wrongDates = ['2026-02-30', '', '0000-12-31', '2026-1-01', `${date(0)} `, '10000-01-01', 'today'];
  const day = weighted(
    [3, fc.constant(date(0))],
    [2, fc.constantFrom(...universe.nightSlots).map(({ offset }) => date(offset))],
  );
  // Mostly around the day itself, where most nights are.
  const range = fc.tuple(fc.integer({ min: -31, max: 1 }), fc.integer({ min: 0, max: 31 })).map(([first, last]) => ({
    from: date(first),
    to: date(Math.min(Math.max(first, last), first + 31)),
  }));
  const wrongEnds: Partial<MetroRange>[] = [...wrongDates, undefined, date(-2), date(40)].flatMap((end) => [
    { from: end },
    { to: end },
  ]);
  const ranged = fc
    .record({
      operation: fc.constantFrom('getKnown', 'getFriends', 'getFlagged'),
      rider,
      metro: odd<string | undefined>(metro, ...wrongSlugs, undefined),
      range,
      ends: odd(fc.constant<Partial<MetroRange>>({}), ...wrongEnds),
      close: odd(fc.constantFrom(undefined, 'false', 'true'), 'True', '', '1'),
    })
    .map(({ operation, range, ends, close, ...of }): CalendarRequest => {
      const request = { ...of, ...range, ...ends };
      return operation === 'getFriends'
        ? { operation, ...request, closeFriendsOnly: close }
        : { operation, ...request };
    });
  return weighted<CalendarRequest>(
    [
      3,
      fc.record({
        operation: fc.constant('getDay' as const),
        metro: odd(metro, ...wrongSlugs),
        day: odd(day, ...wrongDates),
        q: rarely(odd(fc.constantFrom(...searches), 'a', '🚲', '', 'ab', 'x'.repeat(201), '🚲'.repeat(200))),
        far: list('under_5', '5_to_10', '10_to_20', '20_to_40', 'over_40'),
        who: list('General', 'Family Friendly', '21+ Only'),
        where: list(...universe.districts, 'atlantis'),
      }),
    ],
    [
      1,
      fc.record({
        operation: fc.constant('getRide' as const),
        ride: odd<string>(fc.constantFrom(...universe.rides), ...wrongRides),
      }),
    ],
    [1, fc.record({ operation: fc.constant('getMyNights' as const), rider: odd<string>(rider, universe.nobody) })],
    [4, ranged],
  );
}

const words = ['ride', 'BIKE play', 'ｂｉｋｅ', 'café', 'cafe fruh', 'women’s', "'s", 'womens', 'lodz strasse', 'aeo'];
const searches = [...words, 'οδος', 'İST', '🚲🚲', '  ', 'colonel+park', 'lantern', 'fish', '12'];
