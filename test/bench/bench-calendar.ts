import type { Audience, Distance } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { district, liveKey, night, place, metro as recordOfMetro, ride } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { readPortland } from '../support/worlds/portland.ts';

/** Days of about 6 kB and 42 kB, and a ride, with real titles and places: made-up ones are alike, and compress to half as much. */

const metro = 'benchville';
/** Ten days ahead: nothing turns past while it is measured. */
const today = Math.floor(Date.now() / 86_400_000);
const smallDay = today + 10;
const largeDay = today + 11;
const nightsOfSmall = 15;
const nightsOfLarge = 110;

export const developerKey = `rck_${'b'.repeat(43)}`;
export const smallDayPath = `/metros/${metro}/days/${dayText(smallDay)}`;
export const largeDayPath = `/metros/${metro}/days/${dayText(largeDay)}`;
export const ridePath = '/rides/pp15r4800';

const words = ['Bridges', 'Taco', 'Moonlight', 'Gravel', 'Coffee', 'Pastry', 'Sunset', 'Zoo', 'Naked', 'River'];
const bands: (Distance | null)[] = ['UNDER_5', 'FROM_5_TO_10', 'FROM_10_TO_20', 'FROM_20_TO_40', 'OVER_40', null];
const audiences: (Audience | null)[] = ['GENERAL', 'FAMILY_FRIENDLY', 'ADULTS_21_PLUS', null];
const districtSlugs = ['kenton', 'st-johns', 'sellwood', 'downtown', 'hawthorne', 'lents'];

const farNames = ['under_5', '5_to_10', '10_to_20', '20_to_40', 'over_40'];

/** Different filters as readers send them, so that no single answer is made over and over. */
export const filterQueries: string[] = words.flatMap((word, i) => [
  `q=${word.toLowerCase()}`,
  `q=${word.slice(0, 4)}+park`,
  `far=${farNames[i % 5]}&who=21%2B%20Only`,
  `where=${districtSlugs[i % 6]},${districtSlugs[(i + 1) % 6]}`,
  `who=Family%20Friendly,General&where=${districtSlugs[i % 6]}&q=${word}`,
]);

export async function benchCalendar(): Promise<LoggedRecord[]> {
  const titles = new Set<string>();
  const places = new Set<string>();
  for (const { value } of await readPortland()) {
    if (value !== null && 'title' in value) titles.add(value.title!);
    else if (value !== null && 'meeting' in value && value.meeting?.place_name) places.add(value.meeting.place_name);
  }
  const records = [recordOfMetro(metro), liveKey(developerKey)];
  for (const slug of districtSlugs) records.push(district(slug, { metro, name: `District of ${slug}` }));
  for (let i = 0; i < nightsOfLarge; i++) records.push(...rideWithNights(i, pick(titles, i), pick(places, i)));
  return records;
}

const pick = (texts: ReadonlySet<string>, i: number): string => [...texts][i % texts.size]!;

function* rideWithNights(i: number, realTitle: string, at: string): Generator<LoggedRecord> {
  const id = `pp15r${4800 + ((i * 37) % 1000)}`;
  const title = `${words[i % words.length]} ${realTitle}`;
  const [distance, audience] = [bands[i % bands.length]!, audiences[i % audiences.length]!];
  yield ride(id, { title, description: `Meet, ride, eat. ${title}.`, type: 'social', metro, distance, audience });
  const days = i === 0 ? Array.from({ length: 12 }, (_, week) => smallDay + 7 * week) : [smallDay];
  const meeting = place({
    place_name: at,
    district: districtSlugs[i % districtSlugs.length]!,
    secret: i % 8 === 7,
    show_neighbourhood: true,
  });
  for (const day of i < nightsOfSmall ? [...days, largeDay] : [largeDay]) {
    yield night(id, dayText(day), { meet_time: ((i * 7) % 96) * 900_000, ...meeting });
  }
}
