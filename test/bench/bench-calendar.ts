import { createHash } from 'node:crypto';
import type { Audience, Distance } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import type { BenchRecord } from './world-archive.ts';

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

const stamps = { revision: 1, changed_at: 1 };

export function* benchCalendar(): Generator<BenchRecord> {
  const zone = 'America/Los_Angeles';
  yield { topic: 'metros', key: metro, value: { metro, name: 'Benchville', time_zone: zone, ...stamps } };
  for (const district of districtSlugs) {
    const value = { district, metro, name: `District of ${district}`, kind: 'DISTRICT' as const, ...stamps };
    yield { topic: 'districts', key: district, value };
  }
  const key_hash = createHash('sha256').update(developerKey).digest();
  yield { topic: 'developer-keys', key: 'bench', value: { key_id: 'bench', key_hash, label: null, ...stamps } };
  for (let i = 0; i < nightsOfLarge; i++) yield* rideWithNights(i);
}

function* rideWithNights(i: number): Generator<BenchRecord> {
  const ride = `bench${String(i).padStart(3, '0')}`;
  const url = `https://rides.example.org/r/${ride}`;
  const title = `${words[i % words.length]} ride of the ${places[i % places.length]} gang, number ${i}`;
  yield {
    topic: 'rides',
    key: ride,
    value: {
      ...{ ride, title, description: `Meet, ride, eat. ${title}.`, type: 'social', metro },
      ...{ distance: bands[i % bands.length]!, audience: audiences[i % audiences.length]! },
      ...{ leaders: [], posted: true, url, ...stamps },
    },
  };
  const days = i === 0 ? Array.from({ length: 12 }, (_, week) => smallDay + 7 * week) : [smallDay];
  for (const day of i < nightsOfSmall ? [...days, largeDay] : [largeDay]) {
    const meeting = {
      place_name: `${places[i % places.length]}, behind the bicycle racks`,
      district: districtSlugs[i % districtSlugs.length]!,
      secret: i % 8 === 7,
      show_neighbourhood: true,
    };
    yield {
      topic: 'nights',
      key: `${ride}/${dayText(day)}`,
      value: {
        ...{ ride, day, meet_time: ((i * 7) % 96) * 900_000, status: 'ON' as const, cancellation_reason: null },
        ...{ meeting, url: `${url}/${dayText(day)}`, ...stamps },
      },
    };
  }
}
