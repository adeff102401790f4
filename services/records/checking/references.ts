import type { EdgeLists } from '../../../projector/facts/edge-lists.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import type { Night, Ride, TopicName } from '../../../schemas/events/records.ts';

const isMetro = ({ metros, metroIds }: Facts, slug: string): boolean => metros[metroIds.find(slug)] != null;
const isRider = (facts: Facts, id: string): boolean => facts.riderExists(facts.riderIds.find(id));
const isDistrict = ({ districts }: Facts, slug?: string | null): boolean => slug == null || districts.has(slug);

function* ridesOf({ rides }: Facts): Generator<[number, Ride]> {
  for (const [number, { record }] of rides.entries()) if (record !== null) yield [number, record];
}

function* nightsOf({ nightRecords }: Facts): Generator<[number, Night]> {
  for (const [number, night] of nightRecords.entries()) if (night !== null) yield [number, night];
}

function* edgesOf({ riderIds }: Facts, edges: EdgeLists): Generator<[number, number]> {
  for (let rider = 0; rider < riderIds.size; rider++)
    for (let i = 0; i < edges.length(rider); i++) yield [rider, edges.id(rider, i)];
}

/** The number of each record that refers, and whether what it names has a record. */
type Named = (facts: Facts) => Iterable<[number, boolean]>;

/**
 * Every field that names a record of another topic (docs/rules.md#unchecked-references): topic, field, what to notice, and the
 * references. Of an RSVP and a relation, the number is the one of the fold's two that the field is about.
 */
export const references: readonly (readonly [TopicName, string, string, Named, ('first' | 'second')?])[] = [
  [
    'districts',
    'metro',
    'unknown_metro',
    (f) => f.districts.values().map((one) => [f.districtIds.find(one.district), isMetro(f, one.metro)]),
  ],
  ['rides', 'metro', 'unknown_metro', (f) => ridesOf(f).map(([ride, { metro }]) => [ride, isMetro(f, metro)])],
  [
    'rides',
    'leaders',
    'unknown_rider',
    (f) => ridesOf(f).flatMap(([ride, { leaders }]) => leaders.map((id): [number, boolean] => [ride, isRider(f, id)])),
  ],
  [
    'nights',
    'ride',
    'unknown_ride',
    (f) => nightsOf(f).map(([night]) => [night, f.rides[f.nightRide[night]!]!.record !== null]),
  ],
  [
    'nights',
    'meeting.district',
    'unknown_district',
    (f) => nightsOf(f).map(([night, { meeting }]) => [night, isDistrict(f, meeting?.district)]),
  ],
  [
    'attendance',
    'ride and day',
    'unknown_night',
    (f) => edgesOf(f, f.attendance).map(([, night]) => [night, f.nightRecords[night] !== null]),
    'second',
  ],
  [
    'attendance',
    'rider',
    'unknown_rider',
    (f) => edgesOf(f, f.attendance).map(([rider]) => [rider, f.riderExists(rider)]),
  ],
  [
    'relations',
    'rider',
    'unknown_rider',
    (f) => edgesOf(f, f.relations).map(([rider]) => [rider, f.riderExists(rider)]),
  ],
  [
    'relations',
    'other',
    'unknown_rider',
    (f) => edgesOf(f, f.relations).map(([, other]) => [other, f.riderExists(other)]),
    'second',
  ],
];
