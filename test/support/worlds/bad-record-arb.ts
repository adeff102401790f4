import fc from 'fast-check';
import { asChange, type Change, changeOf, good, keyDate } from './record-arbs.ts';
import * as universe from './universe.ts';

/**
 * Records that can be decoded and are bad all the same (docs/rules.md#what-is-bad), most of them under keys that good
 * records have: each kind by name, so that a test can ask for one.
 */
export function badKinds(today: number): Record<string, fc.Arbitrary<Change>> {
  const metro = fc.constantFrom(...universe.metros).chain(good.metro);
  const ride = fc.constantFrom(...universe.rides).chain(good.ride);
  const night = fc.constantFrom(...universe.nightSlots).chain((slot) => good.night(slot.ride, today + slot.offset));
  const attendance = fc
    .tuple(fc.constantFrom(...universe.nightSlots), fc.constantFrom(...universe.riders))
    .chain(([slot, rider]) => good.attendance(slot.ride, today + slot.offset, rider));
  const rider = fc.constantFrom(...universe.riders).chain(good.rider);

  return {
    'key disagrees with value': fc.oneof(
      metro.map((value): Change => ({ topic: 'metros', key: value.metro === 'ktm' ? 'apia' : 'ktm', value })),
      good.district('alameda').map((value): Change => ({ topic: 'districts', key: 'old-town', value })),
      rider.map((value): Change => ({ topic: 'riders', key: value.rider === 'r1' ? 'R1' : 'r1', value })),
      ride.map((value): Change => ({ topic: 'rides', key: value.ride === 'ride1' ? 'ride2' : 'ride1', value })),
      night.map((value): Change => ({ ...changeOf('nights', value), value: { ...value, day: value.day + 1 } })),
      night.map((value): Change => ({ ...changeOf('nights', value), value: { ...value, ride: 'other1' } })),
      attendance.map((value): Change => ({ ...changeOf('attendance', value), value: { ...value, rider: 'r99' } })),
      attendance.map(
        (value): Change => ({ ...changeOf('attendance', value), value: { ...value, day: value.day - 1 } }),
      ),
      // Who relates to whom is turned around.
      good.relation('r1', 'r2').map((value): Change => ({ topic: 'relations', key: 'r2/r1', value })),
      good.developerKey('k1').map((value): Change => ({ topic: 'developer-keys', key: 'k2', value })),
    ),

    'key off its pattern': fc.oneof(
      asChange('metros', fc.oneof(wrongSlugs, fc.constant('a')).chain(good.metro)),
      asChange('districts', wrongSlugs.chain(good.district)),
      asChange('riders', wrongIds.chain(good.rider)),
      asChange('developer-keys', wrongIds.chain(good.developerKey)),
      asChange('rides', wrongRideIds.chain(good.ride)),
      asChange(
        'nights',
        wrongRideIds.chain((id) => good.night(id, today)),
      ),
      asChange(
        'attendance',
        wrongIds.chain((id) => good.attendance('ride1', today, id)),
      ),
      asChange(
        'relations',
        wrongIds.chain((id) => good.relation('r1', id)),
      ),
      fc
        .constantFrom('ride1/2026-02-30', 'ride1/2026-1-01', 'ride1', 'ride1/2026-01-01/', '')
        .chain((key) => night.map((value): Change => ({ topic: 'nights', key, value }))),
    ),

    'tombstone off its pattern': fc
      .oneof(
        fc.constantFrom<[Change['topic'], string]>(
          ['metros', 'Portland'],
          ['districts', ''],
          ['riders', 'r 1'],
          ['rides', 'abc'],
          ['nights', 'ride1/2026-02-30'],
          ['attendance', 'ride1/2026-01-01'],
          ['relations', 'r1/r2/r3'],
          // Cut where a slash is missing, it would be read as r1/r10, which good histories hold.
          ['relations', 'r10'],
          ['developer-keys', 'k'.repeat(65)],
        ),
        misjoined(today),
      )
      .map(([topic, key]): Change => ({ topic, key, value: null })),

    'no such time zone': fc
      .tuple(metro, fc.constantFrom(...universe.wrongZones))
      .map(([value, zone]) => changeOf('metros', { ...value, time_zone: zone })),

    'a rider related to themself': fc
      .constantFrom(...universe.riders)
      .chain((id) => good.relation(id, id))
      .chain((value) => fc.constantFrom(value, null).map((kept) => ({ ...changeOf('relations', value), value: kept }))),

    'url off its pattern': fc.oneof(
      fc.tuple(ride, wrongUrl).map(([value, url]) => changeOf('rides', { ...value, url })),
      fc.tuple(night, wrongUrl).map(([value, url]) => changeOf('nights', { ...value, url })),
    ),

    'day outside years 0001 to 9999': fc.oneof(
      outsideDay.chain((day) => asChange('nights', good.night('ride1', day))),
      outsideDay.chain((day) => asChange('attendance', good.attendance('ride1', day, 'r1'))),
      fc
        .tuple(night, fc.oneof(outsideDay, hugeDay))
        .map(([value, day]): Change => ({ ...changeOf('nights', value), value: { ...value, day } })),
    ),

    'time outside the day': fc
      .tuple(night, fc.constantFrom(-1, -60_000, 86_400_000, 2_147_483_647, -2_147_483_648))
      .map(([value, time]) => changeOf('nights', { ...value, meet_time: time })),
  };
}

export function badChange(today: number): fc.Arbitrary<Change> {
  return fc.oneof(...Object.values(badKinds(today)));
}

/** Keys of good records of several fields, with the slashes between them gone, doubled or elsewhere. */
const misjoined = (today: number): fc.Arbitrary<[Change['topic'], string]> => {
  const night = fc.constantFrom(...universe.nightSlots).map(({ ride, offset }) => [ride, keyDate(today + offset)]);
  const rider = fc.constantFrom<string>(...universe.riders);
  const fields = fc.oneof(
    night.map((parts): [Change['topic'], string[]] => ['nights', parts]),
    fc.tuple(night, rider).map(([parts, id]): [Change['topic'], string[]] => ['attendance', [...parts, id]]),
    fc.tuple(rider, rider).map((parts): [Change['topic'], string[]] => ['relations', parts]),
  );
  const wrong = fc.constantFrom<(parts: string[]) => string>(
    (parts) => parts.join(''),
    (parts) => parts.join('//'),
    (parts) => parts.join('|'),
    (parts) => `/${parts.join('/')}`,
    (parts) => `${parts.join('/')}/`,
    (parts) => parts.slice(1).join('/'),
    (parts) => parts.slice(0, -1).join('/'),
  );
  return fc.tuple(fields, wrong).map(([[topic, parts], join]) => [topic, join(parts)]);
};

const wrongSlugs = fc.constantFrom('', 'Portland', 'port land', 'a'.repeat(81), 'portländ', 'portland\n', 'a/b');
const wrongIds = fc.constantFrom('', 'r 1', 'r.1', 'r'.repeat(65), 'ñ', 'r1\n', 'r/1');
const wrongRideIds = fc.constantFrom('', 'abc', 'Ride1', 'ride-1', 'r'.repeat(33), 'ride1\n');
const wrongUrl = fc.constantFrom(...universe.wrongUrls);
const outsideDay = fc.constantFrom(-719_163, 2_932_897, 100_000_000, -100_000_000);
// Beyond what a Date can hold: formatting one throws.
const hugeDay = fc.constantFrom(100_000_001, 2_147_483_647, -2_147_483_648);
