import fc from 'fast-check';
import {
  type AnyRecord,
  type MeetingPlace,
  type TopicName,
  type TopicRecords,
  topicNames,
} from '../../../schemas/events/records.ts';
import * as universe from './universe.ts';

/** What a history publishes: a record without its place in the log. */
export interface Change {
  topic: TopicName;
  key: string;
  value: AnyRecord | null;
}

const firstDay = -719_162;
const lastDay = 2_932_896;

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

/** Good records of every topic, given their keys. `today` is the day that the history plays around. */
export const good = {
  metro: (metro: string): fc.Arbitrary<TopicRecords['metros']> =>
    fc.record({
      metro: fc.constant(metro),
      name: fc.constantFrom('A town', 'Ō'),
      time_zone: mostly(fc.constant(universe.usualZones[metro] ?? 'UTC'), fc.constantFrom(...universe.zones), 3),
      ...stamps,
    }),

  district: (district: string): fc.Arbitrary<TopicRecords['districts']> =>
    fc.record({
      district: fc.constant(district),
      metro: fc.constantFrom(...universe.metros, 'atlantis'),
      name: fc.constantFrom(...universe.districtNames),
      kind:
        district === 'beaverton'
          ? mostly(fc.constant('CITY'), fc.constant('DISTRICT'))
          : mostly(fc.constant('DISTRICT'), fc.constant('CITY')),
      ...stamps,
    }),

  rider: (rider: string): fc.Arbitrary<TopicRecords['riders']> =>
    fc.record({
      rider: fc.constant(rider),
      handle: fc.constantFrom(...universe.handles),
      name: fc.constantFrom(...universe.riderNames),
      ...stamps,
    }),

  ride: (ride: string): fc.Arbitrary<TopicRecords['rides']> =>
    fc.record({
      ride: fc.constant(ride),
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
      ...stamps,
    }),

  night: (ride: string, day: number): fc.Arbitrary<TopicRecords['nights']> =>
    fc.record({
      ride: fc.constant(ride),
      day: fc.constant(day),
      meet_time: fc.oneof(
        fc.constant(null),
        fc.constantFrom(0, 999, 59_999, 60_000, 68_400_000, 68_430_000, 68_459_999, 86_399_999),
      ),
      status: mostly(fc.constant('ON'), fc.constant('CANCELLED'), 3),
      cancellation_reason: fc.constantFrom(...universe.reasons),
      meeting,
      url,
      ...stamps,
    }),

  attendance: (ride: string, day: number, rider: string): fc.Arbitrary<TopicRecords['attendance']> =>
    fc.record({
      ride: fc.constant(ride),
      day: fc.constant(day),
      rider: fc.constant(rider),
      response: fc.constantFrom('NONE', 'GOING', 'GOING', 'CONFIRMED'),
      saved: fc.boolean(),
      ...stamps,
    }),

  relation: (rider: string, other: string): fc.Arbitrary<TopicRecords['relations']> =>
    fc.record({
      rider: fc.constant(rider),
      other: fc.constant(other),
      follows: chance(2, 1),
      close: chance(1, 2),
      flagged: chance(1, 2),
      blocked: chance(1, 6),
      ...stamps,
    }),

  developerKey: (keyId: string): fc.Arbitrary<TopicRecords['developer-keys']> =>
    fc.record({
      key_id: fc.constant(keyId),
      key_hash: fc.constantFrom(...universe.keyTexts).map(universe.keyHash),
      label: fc.constantFrom(null, '', 'my app'),
      ...stamps,
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
export function changeOf<T extends TopicName>(topic: T, value: TopicRecords[T]): Change {
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

/** Good records of each topic, under any key. */
export const goodOf = (today: number): Record<TopicName, fc.Arbitrary<Change>> => ({
  metros: fc.constantFrom(...universe.metros).chain((id) => asChange('metros', good.metro(id))),
  districts: fc.constantFrom(...universe.districts).chain((id) => asChange('districts', good.district(id))),
  riders: fc.constantFrom(...universe.riders).chain((id) => asChange('riders', good.rider(id))),
  rides: fc.constantFrom(...universe.rides).chain((id) => asChange('rides', good.ride(id))),
  nights: slot(today).chain(({ ride, day }) => asChange('nights', good.night(ride, day))),
  attendance: fc
    .tuple(slot(today), mostly(fc.constantFrom<string>(...universe.riders), fc.constant(universe.nobody), 12))
    .chain(([{ ride, day }, rider]) => asChange('attendance', good.attendance(ride, day, rider))),
  relations: pair.chain(([rider, other]) => asChange('relations', good.relation(rider, other))),
  'developer-keys': fc
    .constantFrom(...universe.keyIds)
    .chain((id) => asChange('developer-keys', good.developerKey(id))),
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

export function asChange<T extends TopicName>(topic: T, value: fc.Arbitrary<TopicRecords[T]>): fc.Arbitrary<Change> {
  return value.map((record) => changeOf(topic, record));
}
