import { dayText } from '../../schemas/views/days.ts';
import { encodeDay } from '../../schemas/views/view-kinds.ts';
import type { Facts } from '../facts/facts.ts';
import { dayOf, type MetroDay, subjectOf } from '../facts/numbers.ts';
import { joinNights, nightFacets, publishedNights } from './night.ts';

/**
 * One day of a metro's calendar (docs/rules.md#fields-of-answers). Null if it has no nights: an absent view is an empty
 * day.
 */
export function renderDay(facts: Facts, metroDay: MetroDay): Buffer | null {
  const nights = publishedNights(facts, facts.nightsOfDay.get(metroDay) ?? []);
  if (nights.length === 0) return null;
  const [metro, day] = [subjectOf(metroDay), dayOf(metroDay)];
  const head = `{"metro":${JSON.stringify(facts.metroIds.text(metro))},"day":"${dayText(day)}","nights":[`;
  const { body, places, rendered } = joinNights(facts, nights, head, ']}');
  return encodeDay(
    { zone: facts.metros[metro]!.time_zone, day, nights: places.flatMap(({ start, end, past }) => [start, end, past]) },
    rendered.map((night) => nightFacets(facts, night)),
    body,
  );
}
