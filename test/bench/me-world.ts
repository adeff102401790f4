import { createHash } from 'node:crypto';
import { dayText } from '../../schemas/views/days.ts';
import type { BenchRecord } from './world-archive.ts';

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
const stamps = { revision: 1, changed_at: 1 };

const riderOf = (i: number): string => `rider-${String(i).padStart(4, '0')}-of-the-pool`;
export const readers: readonly string[] = Array.from({ length: readerCount }, (_, i) => `reader-${i}`);

const firstNames = ['Ada', 'Benoît', 'Chiyo', 'Dmitri', 'Eloise', 'Fatuma', 'Gwen', 'Hal'];
const lastNames = ['Sparrow', 'Lindqvist', 'Okafor', 'Marsh', 'Pereira', 'Yamada', 'Underhill'];

export const developerKey = `rck_${'m'.repeat(43)}`;

export function* meWorld(): Generator<BenchRecord> {
  yield { topic: 'metros', key: metro, value: { metro, name: 'Benchville', time_zone: 'Europe/Berlin', ...stamps } };
  const key_hash = createHash('sha256').update(developerKey).digest();
  yield { topic: 'developer-keys', key: 'bench', value: { key_id: 'bench', key_hash, label: null, ...stamps } };
  for (let i = 0; i < poolSize; i++) {
    const name = `${firstNames[i % firstNames.length]} ${lastNames[i % lastNames.length]}`;
    yield rider(riderOf(i), `handle_${i}`, i % 9 === 0 ? null : name);
  }
  for (const [i, reader] of readers.entries()) {
    yield rider(reader, `reader_${i}`, null);
    for (let f = 0; f < friendsOfAReader; f++) yield relation(reader, riderOf((i * 31 + f * 7) % poolSize), f);
  }
  let n = 0;
  for (let day = today - daysBefore; day <= today + daysAfter; day++) {
    for (let of = 0; of < ridesADay; of++) yield* rideAndNight(n++, day);
  }
  for (let of = 0; of < nightsOfFullDay; of++) yield* rideAndNight(n++, fullDay);
}

const rider = (id: string, handle: string, name: string | null): BenchRecord => {
  return { topic: 'riders', key: id, value: { rider: id, handle, name, ...stamps } };
};

function relation(reader: string, other: string, number: number): BenchRecord {
  const bits = { follows: true, close: number % 5 === 0, flagged: number % 20 === 0, blocked: false };
  return { topic: 'relations', key: `${reader}/${other}`, value: { rider: reader, other, ...bits, ...stamps } };
}

function* rideAndNight(n: number, day: number): Generator<BenchRecord> {
  const ride = `bench${String(n).padStart(3, '0')}`;
  const url = `https://rides.example.org/r/${ride}`;
  const rest = { description: null, type: 'social', distance: null, audience: null, leaders: [], posted: true, url };
  const title = `A ride of some kind to the river, number ${n}`;
  yield { topic: 'rides', key: ride, value: { ride, title, metro, ...rest, ...stamps } };
  const meeting = { place_name: 'Under the bridge', district: null, secret: false, show_neighbourhood: true };
  const on = { meet_time: 68_400_000, status: 'ON' as const, cancellation_reason: null, meeting, url };
  yield { topic: 'nights', key: `${ride}/${dayText(day)}`, value: { ride, day, ...on, ...stamps } };
  for (let i = 0; i < poolSize; i++) if ((i * 13 + n) % riderGoesTo === 0) yield rsvp(ride, day, riderOf(i));
  for (const [i, reader] of readers.entries()) if ((i + n) % readerGoesTo === 0) yield rsvp(ride, day, reader);
}

function rsvp(ride: string, day: number, rider: string): BenchRecord {
  const value = { ride, day, rider, response: 'GOING' as const, saved: false, ...stamps };
  return { topic: 'attendance', key: `${ride}/${dayText(day)}/${rider}`, value };
}
