import { encodeRide } from '../../schemas/views/view-kinds.ts';
import type { Facts } from '../facts/facts.ts';
import type { RideNumber } from '../facts/numbers.ts';
import { joinNights, publishedNights, publishedRide, textOrNull } from './night.ts';

/** A ride and every date that it meets (docs/rules.md#nights-of-a-ride). Null if it has no page. */
export function renderRide(facts: Facts, number: RideNumber): Buffer | null {
  const published = publishedRide(facts, number);
  if (!published) return null;
  const { metro, ride } = published;
  const nights = publishedNights(facts, facts.rides[number]!.nights.values());
  const fields = JSON.stringify({
    ride: ride.ride,
    title: ride.title,
    description: textOrNull(ride.description),
    type: ride.type,
    metro: ride.metro,
  });
  const [head, tail] = [`${fields.slice(0, -1)},"nights":[`, `],"url":${JSON.stringify(ride.url)}}`];
  const { body, places } = joinNights(facts, nights, head, tail);
  const days = nights.map(({ night }) => night.day);
  return encodeRide({ zone: metro.time_zone, days, past: places.map(({ past }) => past) }, body);
}
