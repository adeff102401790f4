import fc from 'fast-check';
import {
  type AnyRecord,
  type MeetingPlace,
  type TopicName,
  type TopicRecords,
  topicNames,
} from '../../../schemas/events/records.ts';
import { firstDay, lastDay } from '../../reference/dates.ts';
import * as universe from './universe.ts';

/** What a history publishes: a record without its place in the log. */
export interface Change {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
}

/** A date in a key, also of a day that has no good one: `-000001-12-31`, `+010000-01-01`. */
export const keyDate = (day: number): string => new Date(day * 86_400_000).toISOString().split('T')[0]!;

/** Like fc.oneof, of pairs of a weight and what it is for. */
export const weighted = <T>(...pairs: [weight: number, arbitrary: fc.Arbitrary<T>][]): fc.Arbitrary<T> =>
  fc.oneof(...pairs.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, usualWeight = 5): fc.Arbitrary<T> =>
  weighted([usualWeight, usual], [1, odd]);
const chance = (trues: number, falses: number): fc.Arbitrary<boolean> =>
  weighted([falses, fc.constant(false)], [trues, fc.constant(true)]);

// Revisions and times of change are noise on purpose: neither may decide anything.
const stamps = {
  revision: fc.integer({ min: 0, max: 50 }),
  changed_at: fc.integer({ min: 0, max: 2_000_000_000_000 }),
};
const url = fc.constantFrom(...universe.goodUrls);

/** Good records of a topic, of which some fields are given and the others drawn. */
function drawn<T extends TopicName>(
  topic: T,
  fields: {
    [F in Exclude<keyof TopicRecords[T], keyof typeof stamps>]: TopicRecords[T][F] | fc.Arbitrary<TopicRecords[T][F]>;
  },
) {
  const arbs = Object.entries(fields).map(([name, of]) => [name, of instanceof fc.Arbitrary ? of : fc.constant(of)]);
  return fc
    .record({ ...Object.fromEntries(arbs), ...stamps })
    .map((value) => changeOf(topic, value as TopicRecords[T]));
}

/** Good records of every topic, given their keys. */
export const good = {
  metros: (metro: string) =>
    drawn('metros', {
      metro,
      name: fc.constantFrom('A town', 'Ō'),
      time_zone: mostly(fc.constant(universe.usualZones[metro] ?? 'UTC'), fc.constantFrom(...universe.zones), 3),
    }),

  districts: (district: string) =>
    drawn('districts', {
      district,
      metro: fc.constantFrom(...universe.metros, 'atlantis'),
      name: fc.constantFrom(...universe.districtNames),
      kind: (district === 'beaverton' ? chance(5, 1) : chance(1, 5)).map((isCity) => (isCity ? 'CITY' : 'DISTRICT')),
    }),

  riders: (rider: string) =>
    drawn('riders', {
      rider,
      handle: fc.constantFrom(...universe.handles),
      name: fc.constantFrom(...universe.riderNames),
    }),

  rides: (ride: string) =>
    drawn('rides', {
      ride,
      title: fc.constantFrom(...universe.titles),
      description: fc.constantFrom(...universe.descriptions),
      type: fc.constantFrom(...universe.rideTypes),
      metro: weighted(
        [6, fc.constant('portland')],
        [3, fc.constantFrom(...universe.metros)],
        [1, fc.constantFrom('atlantis', '')],
      ),
      distance: fc.constantFrom(null, 'UNDER_5', 'FROM_5_TO_10', 'FROM_10_TO_20', 'FROM_20_TO_40', 'OVER_40'),
      audience: fc.constantFrom(null, 'GENERAL', 'FAMILY_FRIENDLY', 'ADULTS_21_PLUS'),
      // A leader may be nobody, and may be named twice.
      leaders: fc.array(fc.constantFrom('r1', 'r2', 'R1', universe.nobody), { maxLength: 3 }),
      posted: chance(6, 1),
      url,
    }),

  nights: (ride: string, day: number) =>
    drawn('nights', {
      ride,
      day,
      meet_time: fc.oneof(
        fc.constant(null),
        fc.constantFrom(0, 999, 59_999, 60_000, 68_400_000, 68_430_000, 68_459_999, 86_399_999),
      ),
      status: chance(1, 3).map((isOff) => (isOff ? 'CANCELLED' : 'ON')),
      cancellation_reason: fc.constantFrom(...universe.reasons),
      meeting,
      url,
    }),

  attendance: (ride: string, day: number, rider: string) =>
    drawn('attendance', {
      ride,
      day,
      rider,
      response: fc.constantFrom('NONE', 'GOING', 'GOING', 'CONFIRMED'),
      saved: fc.boolean(),
    }),

  relations: (rider: string, other: string) =>
    drawn('relations', {
      rider,
      other,
      follows: chance(2, 1),
      close: chance(1, 2),
      flagged: chance(1, 2),
      blocked: chance(1, 6),
    }),

  'developer-keys': (key_id: string) =>
    drawn('developer-keys', {
      key_id,
      key_hash: fc.constantFrom(...universe.keyTexts).map(universe.keyHash),
      label: fc.constantFrom(null, '', 'my app'),
    }),
};

const district = mostly(fc.constantFrom<string | null>(...universe.districts), fc.constantFrom(null, '', 'atlantis'));
const meetingIn = (secret: boolean, places: readonly (string | null)[]): fc.Arbitrary<MeetingPlace> =>
  fc.record({
    place_name: fc.constantFrom(...places),
    district,
    secret: fc.constant(secret),
    show_neighbourhood: fc.boolean(),
  });
const meeting = weighted<MeetingPlace | null>(
  [1, fc.constant(null)],
  [4, meetingIn(false, universe.placeNames)],
  [2, meetingIn(true, universe.secretPlaceNames)],
);

/** The key that a good value goes under. */
export function changeOf<T extends TopicName>(topic: T, value: TopicRecords[T]) {
  const fields = value as unknown as Record<string, string | number>;
  const parts = keyFields[topic].map((field) =>
    field === 'day' ? keyDate(Number(fields.day)) : String(fields[field]),
  );
  return { topic, key: parts.join('/'), value };
}

export const keyFields: Record<TopicName, string[]> = {
  metros: ['metro'],
  districts: ['district'],
  riders: ['rider'],
  rides: ['ride'],
  nights: ['ride', 'day'],
  attendance: ['ride', 'day', 'rider'],
  relations: ['rider', 'other'],
  'developer-keys': ['key_id'],
};

const slot = (today: number) =>
  mostly(
    fc.constantFrom(...universe.nightSlots).map(({ ride, offset }) => ({ ride, day: today + offset })),
    fc.record({
      ride: fc.constantFrom(...universe.rides, 'unknown1'),
      day: fc.oneof(fc.integer({ min: today - 95, max: today + 95 }), fc.constantFrom(firstDay, firstDay + 1, lastDay)),
    }),
    8,
  );
const pair = mostly(
  fc.tuple(fc.constantFrom(...universe.riders), fc.constantFrom(...universe.riders)),
  fc.constantFrom(['r1', universe.nobody], [universe.nobody, 'r1']) as fc.Arbitrary<[never, never]>,
  9,
).filter(([rider, other]) => (rider as string) !== other);

/** Good records of each topic, under any key. `today` is the day that the history plays around. */
export const goodOf = (today: number): Record<TopicName, fc.Arbitrary<Change>> => ({
  metros: fc.constantFrom(...universe.metros).chain(good.metros),
  districts: fc.constantFrom(...universe.districts).chain(good.districts),
  riders: fc.constantFrom(...universe.riders).chain(good.riders),
  rides: fc.constantFrom(...universe.rides).chain(good.rides),
  nights: slot(today).chain(({ ride, day }) => good.nights(ride, day)),
  attendance: fc
    .tuple(slot(today), mostly(fc.constantFrom<string>(...universe.riders), fc.constant(universe.nobody), 12))
    .chain(([{ ride, day }, rider]) => good.attendance(ride, day, rider)),
  relations: pair.chain(([rider, other]) => good.relations(rider, other)),
  'developer-keys': fc.constantFrom(...universe.keyIds).chain(good['developer-keys']),
});
const fewer = { metros: 2, districts: 2, 'developer-keys': 2, riders: 4, rides: 5 };
const weights: Record<TopicName, number> = { ...fewer, nights: 8, relations: 10, attendance: 14 };

/** Any good record; about one in seven is a tombstone. */
export function goodChange(today: number): fc.Arbitrary<Change> {
  const goods = goodOf(today);
  const published = weighted(
    ...topicNames.map((topic) => [weights[topic], goods[topic]] as [number, fc.Arbitrary<Change>]),
  );
  return fc.tuple(published, chance(1, 6)).map(([change, gone]) => (gone ? { ...change, value: null } : change));
}
