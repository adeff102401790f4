import type { Audience, Distance } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { district, liveKey, night, place, metro as recordOfMetro, ride } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';

/** A small calendar whose answers have the sizes to be measured: a day of about 6 kB, one of about 40 kB, a ride. */

const metro = 'benchville';
/** Ten days ahead: nothing turns past while it is measured. */
const today = Math.floor(Date.now() / 86_400_000);
const smallDay = today + 10;
const largeDay = today + 11;
const nightsOfSmall = 15;
const nightsOfLarge = 100;

export const developerKey = `rck_${'b'.repeat(43)}`;
export const smallDayPath = `/metros/${metro}/days/${dayText(smallDay)}`;
export const largeDayPath = `/metros/${metro}/days/${dayText(largeDay)}`;
export const ridePath = '/rides/bench000';

const words = ['Bridges', 'Taco', 'Moonlight', 'Gravel', 'Coffee', 'Pastry', 'Sunset', 'Zoo', 'Naked', 'River'];
const places = ['Fountain', 'Library steps', 'Velodrome', 'Old mill', 'Café Vélo', 'North park', 'Ferry landing'];
const bands: (Distance | null)[] = ['UNDER_5', 'FROM_5_TO_10', 'FROM_10_TO_20', 'FROM_20_TO_40', 'OVER_40', null];
const audiences: (Audience | null)[] = ['GENERAL', 'FAMILY_FRIENDLY', 'ADULTS_21_PLUS', null];
const districtSlugs = ['kenton', 'st-johns', 'sellwood', 'downtown', 'hawthorne', 'lents'];

/** Different filters as readers send them, so that no single answer is made over and over. */
export const filterQueries: string[] = words
  .flatMap((word, i) => [
    `q=${word.toLowerCase()}`,
    `q=${word.slice(0, 4)}+${places[i % places.length]!.split(' ')[0]!.toLowerCase()}`.normalize('NFC'),
    `far=${['under_5', '5_to_10', '10_to_20', '20_to_40', 'over_40'][i % 5]},over_40&who=21%2B%20Only`.replace(
      'over_40,over_40',
      'over_40',
    ),
    `where=${districtSlugs[i % 6]},${districtSlugs[(i + 1) % 6]}`,
    `who=Family%20Friendly,General&where=${districtSlugs[i % 6]}&q=${word}`,
  ])
  .map((query) => query.replace(/[^\x20-\x7e]/g, (char) => encodeURIComponent(char)));

export function* benchCalendar(): Generator<LoggedRecord> {
  yield* [recordOfMetro(metro), liveKey(developerKey)];
  for (const slug of districtSlugs) yield district(slug, { metro, name: `District of ${slug}` });
  for (let i = 0; i < nightsOfLarge; i++) yield* rideWithNights(i);
}

function* rideWithNights(i: number): Generator<LoggedRecord> {
  const id = `bench${String(i).padStart(3, '0')}`;
  const at = places[i % places.length]!;
  const title = `${words[i % words.length]} ride of the ${at} gang, number ${i}`;
  const [distance, audience] = [bands[i % bands.length]!, audiences[i % audiences.length]!];
  yield ride(id, { title, description: `Meet, ride, eat. ${title}.`, type: 'social', metro, distance, audience });
  const days = i === 0 ? Array.from({ length: 12 }, (_, week) => smallDay + 7 * week) : [smallDay];
  const meeting = place({
    place_name: `${at}, behind the bicycle racks`,
    district: districtSlugs[i % districtSlugs.length]!,
    secret: i % 8 === 7,
    show_neighbourhood: true,
  });
  for (const day of i < nightsOfSmall ? [...days, largeDay] : [largeDay]) {
    yield night(id, dayText(day), { meet_time: ((i * 7) % 96) * 900_000, ...meeting });
  }
}
