import type { EdgeLists } from '../../../projector/facts/edge-lists.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import type { NightNumber, RideNumber, RiderNumber } from '../../../projector/facts/numbers.ts';
import type { Night, Ride, TopicName } from '../../../schemas/events/records.ts';

const isMetro = ({ metros, metroIds }: Facts, slug: string): boolean => metros[metroIds.find(slug)] != null;
const isRider = (facts: Facts, id: string): boolean => facts.riderExists(facts.riderIds.find(id));
const isDistrict = ({ districts }: Facts, slug?: string | null): boolean => slug == null || districts.has(slug);

function* ridesOf({ rides }: Facts): Generator<[RideNumber, Ride]> {
  for (const [number, { record }] of rides.entries()) if (record !== null) yield [number, record];
}

function* nightsOf({ nightRecords }: Facts): Generator<[NightNumber, Night]> {
  for (const [number, night] of nightRecords.entries()) if (night !== null) yield [number, night];
}

function* edgesOf<N extends number>(
  { riderIds }: Facts,
  edges: EdgeLists<RiderNumber, N>,
): Generator<[RiderNumber, N]> {
  for (const rider of riderIds.numbers())
    for (let i = 0; i < edges.length(rider); i++) yield [rider, edges.id(rider, i)];
}

/** The number of each record that refers, and whether what it names has a record. */
type Named = (facts: Facts) => Iterable<readonly [number, boolean]>;

/** `of`: which of the two numbers that an RSVP or a relation has in the fold. */
const refer = (topic: TopicName, field: string, to: string, of: 'first' | 'second', named: Named) =>
  ({ topic, field, to, of, named }) as const;

/** Every field that names a record of another topic (docs/rules.md#unchecked-references). */
export const references = [
  refer('districts', 'metro', 'metro', 'first', (f) =>
    f.districts.values().map((one) => [f.districtIds.find(one.district), isMetro(f, one.metro)]),
  ),
  refer('rides', 'metro', 'metro', 'first', (f) => ridesOf(f).map(([ride, { metro }]) => [ride, isMetro(f, metro)])),
  refer('rides', 'leaders', 'rider', 'first', (f) =>
    ridesOf(f).flatMap(([ride, { leaders }]) => leaders.map((id) => [ride, isRider(f, id)] as const)),
  ),
  refer('nights', 'ride', 'ride', 'first', (f) =>
    nightsOf(f).map(([night]) => [night, f.rides[f.nightRide[night]!]!.record !== null]),
  ),
  refer('nights', 'meeting.district', 'district', 'first', (f) =>
    nightsOf(f).map(([night, { meeting }]) => [night, isDistrict(f, meeting?.district)]),
  ),
  refer('attendance', 'ride and day', 'night', 'second', (f) =>
    edgesOf(f, f.attendance).map(([, night]) => [night, f.nightRecords[night] !== null]),
  ),
  refer('attendance', 'rider', 'rider', 'first', (f) =>
    edgesOf(f, f.attendance).map(([rider]) => [rider, f.riderExists(rider)]),
  ),
  refer('relations', 'rider', 'rider', 'first', (f) =>
    edgesOf(f, f.relations).map(([rider]) => [rider, f.riderExists(rider)]),
  ),
  refer('relations', 'other', 'rider', 'second', (f) =>
    edgesOf(f, f.relations).map(([, other]) => [other, f.riderExists(other)]),
  ),
];
