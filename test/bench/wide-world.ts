import { dayText } from '../../schemas/views/days.ts';
import type { BenchRecord } from './world-archive.ts';

/** Worlds of which one thing is wide, and changes of it, one after another. */
export interface WideCase {
  name: string;
  world(): Iterable<BenchRecord>;
  changes: readonly BenchRecord[];
}

const stamps = { revision: 1, changed_at: 1 };
const metro = 'benchville';
const firstDay = 20_000;
const [nights, dates, goingDays] = [5_000, 10_000, 30];
const star = 'star';
const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

export const wideCases = (followers: number): readonly WideCase[] => [
  {
    name: `a day of ${nights} nights, one of them changes`,
    *world() {
      yield metroRecord();
      for (let i = 0; i < nights; i++) yield* [rideRecord(i), nightRecord(i, firstDay)];
    },
    changes: times(10, (i) => nightRecord(nights / 2, firstDay, `Place ${i}`)),
  },
  {
    name: `a ride of ${dates} dates, its title changes`,
    *world() {
      yield* [metroRecord(), rideRecord(0)];
      for (let i = 0; i < dates; i++) yield nightRecord(0, firstDay + i);
    },
    changes: times(10, (i) => rideRecord(0, `Title ${i}`)),
  },
  {
    name: `a rider with ${followers} followers, one RSVP`,
    world: () => starWorld(followers, 0),
    changes: [rsvp(0)],
  },
  {
    name: `a rider with ${followers} followers and ${goingDays} RSVPs, erased`,
    world: () => starWorld(followers, goingDays),
    changes: [{ topic: 'riders', key: star, value: null }],
  },
];

function* starWorld(followers: number, days: number): Generator<BenchRecord> {
  yield* [metroRecord(), rideRecord(0), riderRecord(star)];
  for (let i = 0; i < goingDays; i++) yield nightRecord(0, firstDay + i);
  for (let i = 0; i < days; i++) yield rsvp(i);
  for (let i = 0; i < followers; i++) {
    const rider = `follower${i}`;
    const bits = { follows: true, close: false, flagged: false, blocked: false };
    yield riderRecord(rider);
    yield { topic: 'relations', key: `${rider}/${star}`, value: { rider, other: star, ...bits, ...stamps } };
  }
}

const metroRecord = (): BenchRecord => ({
  topic: 'metros',
  key: metro,
  value: { metro, name: 'Benchville', time_zone: 'Europe/Berlin', ...stamps },
});

const riderRecord = (rider: string): BenchRecord => ({
  topic: 'riders',
  key: rider,
  value: { rider, handle: rider, name: null, ...stamps },
});

function rideRecord(i: number, title = `A ride of some kind, number ${i}`): BenchRecord {
  const ride = `ride${i}`;
  const rest = { description: null, type: 'social', distance: null, audience: null, leaders: [], posted: true };
  const url = `https://rides.example.org/r/${ride}`;
  return { topic: 'rides', key: ride, value: { ride, title, metro, ...rest, url, ...stamps } };
}

function nightRecord(i: number, day: number, place = 'Under the bridge'): BenchRecord {
  const ride = `ride${i}`;
  const meeting = { place_name: place, district: null, secret: false, show_neighbourhood: true };
  const on = { meet_time: 68_400_000, status: 'ON' as const, cancellation_reason: null, meeting };
  const url = `https://rides.example.org/r/${ride}`;
  return { topic: 'nights', key: `${ride}/${dayText(day)}`, value: { ride, day, ...on, url, ...stamps } };
}

function rsvp(i: number): BenchRecord {
  const day = firstDay + i;
  const value = { ride: 'ride0', day, rider: star, response: 'GOING' as const, saved: false, ...stamps };
  return { topic: 'attendance', key: `ride0/${dayText(day)}/${star}`, value };
}
