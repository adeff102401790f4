import type { Audience, Distance, District, MeetingPlace, Metro, Night, Ride } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { compareNights, type NightOrder } from '../../schemas/views/order-of-nights.ts';
import { foldText } from '../../schemas/views/text.ts';
import { encodeNight, type Facets } from '../../schemas/views/view-kinds.ts';
import type { Facts } from '../facts/facts.ts';
import type { NightNumber, RideNumber } from '../facts/numbers.ts';

/** A night that is published: its ride is posted in a known metro, and the night's own record exists. */
interface PublishedNight {
  metro: Metro;
  ride: Ride;
  night: Night;
  goingCount: number;
  order: NightOrder;
}

interface Meeting {
  withheld: boolean;
  place_name: string | null;
  neighbourhood: string | null;
  neighbourhood_slug: string | null;
}

const bands: Record<Distance, string> = {
  UNDER_5: 'under_5',
  FROM_5_TO_10: '5_to_10',
  FROM_10_TO_20: '10_to_20',
  FROM_20_TO_40: '20_to_40',
  OVER_40: 'over_40',
};

const audiences: Record<Audience, string> = {
  GENERAL: 'General',
  FAMILY_FRIENDLY: 'Family Friendly',
  ADULTS_21_PLUS: '21+ Only',
};

/** What hides a ride and its nights (docs/rules.md#posted), or a night, all of it at once. */
export type Hiding =
  | 'the ride has no record'
  | 'the ride is not posted'
  | 'its metro is unknown'
  | 'the night has no record';
const noRide: readonly Hiding[] = ['the ride has no record'];

export function rideHidings(facts: Facts, number: RideNumber): readonly Hiding[] {
  const ride = facts.rides[number];
  if (!ride?.record) return noRide;
  const hidings: Hiding[] = ride.record.posted ? [] : ['the ride is not posted'];
  if (!facts.metros[ride.metro]) hidings.push('its metro is unknown');
  return hidings;
}

export const nightHidings = (facts: Facts, night: NightNumber, ride = facts.nightRide[night]!): readonly Hiding[] =>
  facts.nightRecords[night] ? rideHidings(facts, ride) : [...rideHidings(facts, ride), 'the night has no record'];

/** The metro in which the ride with this number is published, and its record. Null if it has no page (docs/rules.md#posted). */
export function publishedRide(facts: Facts, number: RideNumber): Pick<PublishedNight, 'metro' | 'ride'> | null {
  if (rideHidings(facts, number).length > 0) return null;
  const { record, metro } = facts.rides[number]!;
  return { metro: facts.metros[metro]!, ride: record! };
}

/** The published night with this number. Null if nobody may see it. */
export function publishedNight(facts: Facts, number: NightNumber): PublishedNight | null {
  if (nightHidings(facts, number).length > 0) return null;
  const { metro, ride } = publishedRide(facts, facts.nightRide[number]!)!;
  const night = facts.nightRecords[number]!;
  const order: NightOrder = { day: night.day, sort: [minuteOf(night), ride.title, ride.ride] };
  return { metro, ride, night, goingCount: facts.nightGoing[number]!, order };
}

/** A text of length zero counts as null (docs/rules.md#empty-text). */
export const textOrNull = (text: string | null): string | null => (text === '' ? null : text);

// Seconds are dropped, in the answer and in the order (docs/rules.md#meet-time).
const minuteOf = (night: Night): number | null =>
  night.meet_time === null ? null : Math.floor(night.meet_time / 60_000);

const meetTime = (minute: number | null): string | null =>
  minute === null ? null : new Date(minute * 60_000).toISOString().slice(11, 16);

/** Whether anybody may see in which neighbourhood a night meets (docs/rules.md#secret-neighbourhood). */
export const showsNeighbourhood = (place: Pick<MeetingPlace, 'secret' | 'show_neighbourhood'>): boolean =>
  !place.secret || place.show_neighbourhood;

/** Where a night meets, as anybody may see it (docs/rules.md#secret-meeting, #no-meeting, #neighbourhood). */
export function publishedMeeting(facts: Facts, place: MeetingPlace | null): Meeting {
  const shown = place && showsNeighbourhood(place) && place.district !== null;
  const district = shown ? facts.districts.get(place.district!) : undefined;
  return {
    withheld: place?.secret ?? false,
    place_name: place && !place.secret ? textOrNull(place.place_name) : null,
    neighbourhood: district?.name ?? null,
    neighbourhood_slug: district?.kind === 'DISTRICT' ? district.district : null,
  };
}

/** Why `where` never selects a meeting; null: its slug does (docs/rules.md#where). */
export const whereHiding = (meeting: Meeting): 'a secret meeting' | 'no neighbourhood with a slug' | null =>
  meeting.withheld ? 'a secret meeting' : meeting.neighbourhood_slug === null ? 'no neighbourhood with a slug' : null;

export const publishedNights = (facts: Facts, numbers: Iterable<NightNumber>): PublishedNight[] =>
  [...numbers]
    .map((number) => publishedNight(facts, number))
    .filter((night) => night !== null)
    .sort((a, b) => compareNights(a.order, b.order));

/** What a published night was rendered to, and from what: records, which never change, and a count. */
interface RenderedNight extends Omit<PublishedNight, 'order'> {
  district: District | undefined;
  /** As JSON, with `past` false. */
  text: string;
  /** The offset in bytes where that `false` begins. */
  past: number;
  /** Rendered once they are asked for: of a night in a day. */
  facets: string;
}

// A day's nights are joined anew with each change of one. What is rendered once, as in a compare, is not kept: null says that it
// was. Once full it begins again.
const renderedMax = 4_096;
const renderedNights = new Map<Night, RenderedNight | null>();

/** It says how many go, never who (docs/rules.md#nobody-is-named). */
function renderedNight(facts: Facts, { metro, ride, night, goingCount }: PublishedNight): RenderedNight {
  const district = facts.districts.get(night.meeting?.district ?? '');
  const last = renderedNights.get(night);
  const isSame = last?.metro === metro && last.ride === ride && last.goingCount === goingCount;
  if (isSame && last.district === district) return last;
  // docs/rules.md#cancelled-nights, #cancellation-reason
  const cancelled = night.status === 'CANCELLED';
  const head = JSON.stringify({
    ride: ride.ride,
    title: ride.title,
    day: dayText(night.day),
    meet_time: meetTime(minuteOf(night)),
    time_zone: metro.time_zone,
    status: cancelled ? 'cancelled' : 'on',
    cancellation_reason: cancelled ? textOrNull(night.cancellation_reason) : null,
  });
  const tail = JSON.stringify({
    past: false,
    going_count: goingCount,
    meeting: publishedMeeting(facts, night.meeting),
    url: night.url,
  });
  // `{…,"past":false,…}`: the head without its closing brace, a comma, the tail without its opening brace.
  const text = `${head.slice(0, -1)},${tail.slice(1)}`;
  const past = Buffer.byteLength(head) - 1 + ',"past":'.length;
  const rendered = { metro, ride, night, goingCount, district, text, past, facets: '' };
  if (renderedNights.size >= renderedMax) renderedNights.clear();
  renderedNights.set(night, last === undefined ? null : rendered);
  return rendered;
}

/**
 * What a day's filters need to know about a night, as JSON. A withheld night is in no neighbourhood, even one that it shows
 * (docs/rules.md#where, #q).
 */
export function nightFacets(facts: Facts, rendered: RenderedNight): string {
  const { ride, night, facets } = rendered;
  if (facets) return facets;
  const meeting = publishedMeeting(facts, night.meeting);
  rendered.facets = JSON.stringify({
    far: ride.distance && bands[ride.distance],
    who: ride.audience && audiences[ride.audience],
    where: whereHiding(meeting) ? null : meeting.neighbourhood_slug,
    text: foldText(ride.title) + (meeting.place_name === null ? '' : `\n${foldText(meeting.place_name)}`),
  } satisfies Facets);
  return rendered.facets;
}

/** The night view: its bytes, metro, zone and sort key, for joining into riders' answers. */
export function renderNight(facts: Facts, night: NightNumber): Buffer | null {
  const published = publishedNight(facts, night);
  if (!published) return null;
  const { metro, text, past } = renderedNight(facts, published);
  return encodeNight({ metro: metro.metro, zone: metro.time_zone, past, ...published.order }, Buffer.from(text));
}

/** Nights as JSON array items between a head and a tail, with the places where each begins and ends, and of its `past`. */
export function joinNights(facts: Facts, nights: readonly PublishedNight[], head: string, tail: string) {
  const rendered = nights.map((night) => renderedNight(facts, night));
  let end = Buffer.byteLength(head) - 1;
  const places = rendered.map(({ text, past }) => {
    // Behind the comma.
    const start = end + 1;
    end = start + Buffer.byteLength(text);
    return { start, end, past: start + past };
  });
  return { body: Buffer.from(head + rendered.map(({ text }) => text).join() + tail), places, rendered };
}
