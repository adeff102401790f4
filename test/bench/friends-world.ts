import { dayText } from '../../schemas/views/days.ts';
import type { BenchRecord } from './memory-event-log.ts';

/** A reader with 40 friends, of whom some go to each of 60 nights within 31 days. */
export const reader = 'reader';
export const metro = 'benchville';
const firstDay = Math.floor(Date.now() / 86_400_000) + 1;
const days = 31;
const nights = 60;
const friends = 40;
const friendsAtANight = 4;
export const from = dayText(firstDay);
export const to = dayText(firstDay + days - 1);
const stamps = { revision: 1, changed_at: 1 };

export function* friendsWorld(): Generator<BenchRecord> {
  yield { topic: 'metros', key: metro, value: { metro, name: 'Benchville', time_zone: 'Europe/Berlin', ...stamps } };
  const riders = [reader, ...Array.from({ length: friends }, (_, i) => `friend${i}`)];
  for (const [i, rider] of riders.entries()) {
    yield { topic: 'riders', key: rider, value: { rider, handle: `handle${i}`, name: `Rider ${i}`, ...stamps } };
    if (rider === reader) continue;
    const bits = { follows: true, close: i % 5 === 0, flagged: i % 20 === 0, blocked: false };
    yield { topic: 'relations', key: `${reader}/${rider}`, value: { rider: reader, other: rider, ...bits, ...stamps } };
  }
  for (let i = 0; i < nights; i++) {
    const day = firstDay + (i % days);
    const ride = `ride${i}`;
    const url = `https://rides.example.org/r/${ride}`;
    const rest = { description: null, type: 'social', distance: null, audience: null, leaders: [], posted: true, url };
    const title = `A ride of some kind, number ${i}`;
    yield { topic: 'rides', key: ride, value: { ride, title, metro, ...rest, ...stamps } };
    const meeting = { place_name: 'Under the bridge', district: null, secret: false, show_neighbourhood: true };
    const on = { meet_time: 68_400_000, status: 'ON' as const, cancellation_reason: null, meeting, url };
    yield { topic: 'nights', key: `${ride}/${dayText(day)}`, value: { ride, day, ...on, ...stamps } };
    for (let f = 0; f < friendsAtANight; f++) {
      const rider = `friend${(i * 7 + f * 11) % friends}`;
      const value = { ride, day, rider, response: 'GOING' as const, saved: false, ...stamps };
      yield { topic: 'attendance', key: `${ride}/${dayText(day)}/${rider}`, value };
    }
  }
}
