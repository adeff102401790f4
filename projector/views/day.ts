import { dayText } from '../../schemas/views/days.ts';
import { type DayHeader, encodeView } from '../../schemas/views/view-values.ts';
import type { Facts } from '../facts/facts.ts';
import { subjectDay } from '../facts/subject-day.ts';
import { compareNights, nightFacets, type PublishedNight, publishedNight } from './night.ts';
import { joinNights } from './night-list.ts';

const tail = Buffer.from(']}');

/**
 * One day of a metro's calendar (docs/rules.md#fields-of-answers). Null if it has no nights: an absent view is an empty
 * day.
 */
export function renderDay(facts: Facts, metro: number, day: number): Buffer | null {
  const nights = [...(facts.nightsOfDay.get(subjectDay(metro, day)) ?? [])]
    .map((number) => publishedNight(facts, number))
    .filter((night): night is PublishedNight => night !== null)
    .sort(compareNights);
  if (nights.length === 0) return null;
  const head = Buffer.from(`{"metro":${JSON.stringify(facts.metroIds.text(metro))},"day":"${dayText(day)}","nights":[`);
  const { body, starts, ends, past } = joinNights(facts, nights, head, tail);
  const header: DayHeader = {
    zone: facts.metros[metro]!.time_zone,
    day,
    nights: starts.flatMap((start, i) => [start, ends[i]!, past[i]!]),
  };
  return encodeView(
    header,
    nights.map((night) => nightFacets(facts, night)),
    body,
  );
}
