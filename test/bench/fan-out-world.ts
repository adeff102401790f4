import { dayText } from '../../schemas/views/days.ts';
import type { BenchRecord } from './memory-event-log.ts';

/** A rider with 100,000 followers, and nights for others to answer to. */
const followers = 100_000;
export const star = 'star';
export const nights = 1_000;
export const day = Math.floor(Date.now() / 86_400_000) + 5;
export const rideOf = (night: number): string => `ride${night}`;
const metro = 'benchville';
const stamps = { revision: 1, changed_at: 1 };

export function* fanOutWorld(): Generator<BenchRecord> {
  const value = { metro, name: 'Benchville', time_zone: 'Europe/Berlin', ...stamps };
  yield { topic: 'metros', key: metro, value };
  for (const rider of [star, 'other'])
    yield { topic: 'riders', key: rider, value: { rider, handle: rider, name: null, ...stamps } };
  for (let night = 0; night < nights; night++) {
    const ride = rideOf(night);
    const url = `https://rides.example.org/r/${ride}`;
    const rest = { description: null, type: 'social', distance: null, audience: null, leaders: [], posted: true, url };
    yield { topic: 'rides', key: ride, value: { ride, title: `Ride ${night}`, metro, ...rest, ...stamps } };
    const on = { meet_time: null, status: 'ON' as const, cancellation_reason: null, meeting: null, url };
    // A day of its own for each: that of a hundred nights would be written again and again, which is another matter.
    const nightDay = day + night;
    yield { topic: 'nights', key: `${ride}/${dayText(nightDay)}`, value: { ride, day: nightDay, ...on, ...stamps } };
  }
  for (let i = 0; i < followers; i++) {
    const rider = `follower${i}`;
    yield { topic: 'riders', key: rider, value: { rider, handle: rider, name: null, ...stamps } };
    const bits = { follows: true, close: false, flagged: false, blocked: false };
    yield { topic: 'relations', key: `${rider}/${star}`, value: { rider, other: star, ...bits, ...stamps } };
  }
}
