import type { Audience, Distance } from '../../schemas/events/records.ts';
import { dayOf } from './dates.ts';
import type { Facts } from './facts.ts';
import { type PostedNight, postedNights } from './nights.ts';
import type { DayFilters } from './requests.ts';
import { fold, searchWords } from './text.ts';

/** A Day, or null where there is no such metro. The inputs must be right. */
export function dayAnswer(facts: Facts, clockMs: number, metro: string, day: string, filters: DayFilters) {
  if (!facts.metros.has(metro)) return null;
  const nights = postedNights(facts, clockMs, (night, ride) => ride.metro === metro && night.day === dayOf(day));
  const found = nights.filter((posted) => matches(posted, filters));
  return { metro, day, nights: found.map((posted) => posted.answer) };
}

/** A Ride, or null where there is no such posted ride. */
export function rideAnswer(facts: Facts, clockMs: number, id: string) {
  const ride = facts.rides.get(id);
  if (!ride?.posted || !facts.metros.has(ride.metro)) return null;
  return {
    ride: ride.ride,
    title: ride.title,
    description: ride.description,
    type: ride.type,
    metro: ride.metro,
    nights: postedNights(facts, clockMs, (night) => night.ride === id).map((posted) => posted.answer),
    url: ride.url,
  };
}

const bandNames: Record<Distance, string> = {
  UNDER_5: 'under_5',
  FROM_5_TO_10: '5_to_10',
  FROM_10_TO_20: '10_to_20',
  FROM_20_TO_40: '20_to_40',
  OVER_40: 'over_40',
};
const audienceNames: Record<Audience, string> = {
  GENERAL: 'General',
  FAMILY_FRIENDLY: 'Family Friendly',
  ADULTS_21_PLUS: '21+ Only',
};

function matches({ answer, ride }: PostedNight, { q = '', far, who, where }: DayFilters): boolean {
  const { withheld, place_name, neighbourhood_slug: slug } = answer.meeting;
  const [title, place] = [fold(answer.title), fold(place_name ?? '')];
  return (
    searchWords(q).every((word) => title.includes(word) || place.includes(word)) &&
    (far === undefined || ride.distance === null || far.split(',').includes(bandNames[ride.distance])) &&
    (who === undefined || ride.audience === null || who.split(',').includes(audienceNames[ride.audience])) &&
    (where === undefined || (!withheld && slug !== null && where.split(',').includes(slug)))
  );
}
