import { dayText } from '../../schemas/views/days.ts';
import { liveKey, marks, night, place, metro as recordOfMetro, ride, rider, says } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';

/**
 * A metro in which each reader has nights of their own and 60 friends. Some of the friends go to each of 60 nights within
 * 31 days. Readers have different friends, so no answer is that of another reader.
 */

export const metro = 'benchville';
const readerCount = 64;
const poolSize = 240;
const friendsOfAReader = 60;
/** From 30 days before today to 60 days after it, two rides a day. */
const daysBefore = 30;
const daysAfter = 60;
const ridesADay = 2;
/** A rider goes to every sixth ride of the pool, a reader to every fourth. */
const riderGoesTo = 6;
const readerGoesTo = 4;

const today = Math.floor(Date.now() / 86_400_000);
const rangeDays = 31;
export const from = dayText(today + 1);
export const to = dayText(today + rangeDays);
/** A public day of about 4 kB, beyond the riders' own windows. */
const fullDay = today + 100;
const nightsOfFullDay = 10;
export const fullDayPath = `/metros/${metro}/days/${dayText(fullDay)}`;

const riderOf = (i: number): string => `rider-${String(i).padStart(4, '0')}-of-the-pool`;
export const readers: readonly string[] = Array.from({ length: readerCount }, (_, i) => `reader-${i}`);

const firstNames = ['Ada', 'Benoît', 'Chiyo', 'Dmitri', 'Eloise', 'Fatuma', 'Gwen', 'Hal'];
const lastNames = ['Sparrow', 'Lindqvist', 'Okafor', 'Marsh', 'Pereira', 'Yamada', 'Underhill'];

export const developerKey = `rck_${'m'.repeat(43)}`;

export function* meWorld(): Generator<LoggedRecord> {
  yield* [recordOfMetro(metro, { time_zone: 'Europe/Berlin' }), liveKey(developerKey)];
  for (let i = 0; i < poolSize; i++) {
    const name = `${firstNames[i % firstNames.length]} ${lastNames[i % lastNames.length]}`;
    yield rider(riderOf(i), { handle: `handle_${i}`, name: i % 9 === 0 ? null : name });
  }
  for (const [i, reader] of readers.entries()) {
    yield rider(reader, { handle: `reader_${i}`, name: null });
    for (let f = 0; f < friendsOfAReader; f++) {
      const also = [f % 5 === 0 && 'close', f % 20 === 0 && 'flagged'] as const;
      yield marks(reader, riderOf((i * 31 + f * 7) % poolSize), 'follows', ...also.filter((mark) => mark !== false));
    }
  }
  let n = 0;
  for (let day = today - daysBefore; day <= today + daysAfter; day++) {
    for (let of = 0; of < ridesADay; of++) yield* rideAndNight(n++, day);
  }
  for (let of = 0; of < nightsOfFullDay; of++) yield* rideAndNight(n++, fullDay);
}

function* rideAndNight(n: number, day: number): Generator<LoggedRecord> {
  const id = `bench${String(n).padStart(3, '0')}`;
  const date = dayText(day);
  yield ride(id, { title: `A ride of some kind to the river, number ${n}`, metro });
  const where = place({ place_name: 'Under the bridge', show_neighbourhood: true });
  yield night(id, date, { meet_time: 68_400_000, ...where });
  for (let i = 0; i < poolSize; i++) if ((i * 13 + n) % riderGoesTo === 0) yield says(riderOf(i), 'GOING', id, date);
  for (const [i, reader] of readers.entries()) if ((i + n) % readerGoesTo === 0) yield says(reader, 'GOING', id, date);
}
