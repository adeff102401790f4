import fc from 'fast-check';
import { topicNames } from '../../../schemas/events/records.ts';
import { type Change, changeOf, good, goodOf, keyDate, keyFields } from './record-arbs.ts';
import * as universe from './universe.ts';

/** Records that can be decoded and are bad (docs/rules.md#what-is-bad), most of them under keys that good records have. */
export function badChange(today: number): fc.Arbitrary<Change> {
  const goods = goodOf(today);
  const [metro, ride, night] = [
    fc.constantFrom(...universe.metros).chain(good.metros),
    fc.constantFrom(...universe.rides).chain(good.rides),
    fc.constantFrom(...universe.nightSlots).chain((slot) => good.nights(slot.ride, today + slot.offset)),
  ];
  const anyTopic = fc.constantFrom(...topicNames);
  const offPattern = anyTopic.chain((topic) =>
    fc
      .constantFrom(...keyFields[topic].filter((field) => field !== 'day'))
      .chain((field) =>
        fc
          .tuple(goods[topic], fc.constantFrom(...wrongTexts[field]!))
          .map(([{ value }, text]) => changeOf(topic, { ...value!, [field]: text } as never)),
      ),
  );
  return fc.oneof(
    // Its key disagrees with its value: also as who relates to whom turned around.
    anyTopic.chain((topic) =>
      fc
        .tuple(goods[topic], goods[topic])
        .filter(([one, other]) => one.key !== other.key)
        .map(([{ value }, { key }]) => ({ topic, key, value })),
    ),

    // Its key is off its pattern.
    fc.oneof(
      { weight: 8, arbitrary: offPattern },
      fc
        .constantFrom('ride1/2026-02-30', 'ride1/2026-1-01', 'ride1', 'ride1/2026-01-01/', '')
        .chain((key) => night.map((change): Change => ({ ...change, key }))),
    ),

    // A tombstone's key is.
    fc.oneof(
      offPattern.map((change) => ({ ...change, value: null })),
      misjoined(today),
    ),

    // No such time zone.
    fc
      .tuple(metro, fc.constantFrom(...universe.wrongZones))
      .map(([{ value }, zone]) => changeOf('metros', { ...value, time_zone: zone })),

    // A rider is related to themself.
    fc
      .constantFrom(...universe.riders)
      .chain((id) => good.relations(id, id))
      .chain((change) => fc.constantFrom<Change>(change, { ...change, value: null })),

    // A URL is off its pattern.
    fc.oneof(
      fc.tuple(ride, wrongUrl).map(([{ value }, url]) => changeOf('rides', { ...value, url })),
      fc.tuple(night, wrongUrl).map(([{ value }, url]) => changeOf('nights', { ...value, url })),
    ),

    // A day is outside years 0001 to 9999.
    fc.oneof(
      outsideDay.chain((day) => good.nights('ride1', day)),
      outsideDay.chain((day) => good.attendance('ride1', day, 'r1')),
      fc
        .tuple(night, fc.oneof(outsideDay, hugeDay))
        .map(([change, day]): Change => ({ ...change, value: { ...change.value, day } })),
    ),

    // A time is outside the day.
    fc
      .tuple(night, fc.constantFrom(-1, -60_000, 86_400_000, 2_147_483_647, -2_147_483_648))
      .map(([{ value }, time]) => changeOf('nights', { ...value, meet_time: time })),
  );
}

/** Keys of good records of several fields, with the slashes between them gone, doubled or elsewhere. */
const misjoined = (today: number): fc.Arbitrary<Change> => {
  const night = fc.constantFrom(...universe.nightSlots).map(({ ride, offset }) => [ride, keyDate(today + offset)]);
  const rider = fc.constantFrom<string>(...universe.riders);
  const fields = fc.oneof(
    night.map((parts): [Change['topic'], string[]] => ['nights', parts]),
    fc.tuple(night, rider).map(([parts, id]): [Change['topic'], string[]] => ['attendance', [...parts, id]]),
    // Cut where a slash is missing, `r10` would be read as `r1/r10`, which good histories hold.
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
  return fc.tuple(fields, wrong).map(([[topic, parts], join]) => ({ topic, key: join(parts), value: null }));
};

const wrongSlugs = ['', 'Portland', 'port land', 'a'.repeat(81), 'portländ', 'portland\n', 'a/b'];
const wrongIds = ['', 'r 1', 'r.1', 'r'.repeat(65), 'ñ', 'r1\n', 'r/1'];
const wrongTexts: Record<string, readonly string[]> = {
  metro: [...wrongSlugs, 'a'],
  district: wrongSlugs,
  rider: wrongIds,
  other: wrongIds,
  key_id: wrongIds,
  ride: ['', 'abc', 'Ride1', 'ride-1', 'r'.repeat(33), 'ride1\n'],
};
const wrongUrl = fc.constantFrom(...universe.wrongUrls);
const outsideDay = fc.constantFrom(-719_163, 2_932_897, 100_000_000, -100_000_000);
// Beyond what a Date can hold: formatting one throws.
const hugeDay = fc.constantFrom(100_000_001, 2_147_483_647, -2_147_483_648);
