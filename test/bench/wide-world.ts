import { dayText } from '../../schemas/views/days.ts';
import { gone, marks, metro, night, place, ride, rider, says } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';

/** Worlds of which one thing is wide, and changes of it, one after another. */
export interface WideCase {
  name: string;
  world(): Iterable<LoggedRecord>;
  changes: readonly LoggedRecord[];
}

const benchville = 'benchville';
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
    changes: [gone('riders', star)],
  },
];

function* starWorld(followers: number, days: number): Generator<LoggedRecord> {
  yield* [metroRecord(), rideRecord(0), rider(star)];
  for (let i = 0; i < goingDays; i++) yield nightRecord(0, firstDay + i);
  for (let i = 0; i < days; i++) yield rsvp(i);
  for (let i = 0; i < followers; i++) {
    const follower = `follower${i}`;
    yield* [rider(follower), marks(follower, star, 'follows')];
  }
}

const metroRecord = () => metro(benchville, { time_zone: 'Europe/Berlin' });
const rideRecord = (i: number, title = `A ride of some kind, number ${i}`) =>
  ride(`ride${i}`, { title, metro: benchville });
const nightRecord = (i: number, day: number, place_name = 'Under the bridge') =>
  night(`ride${i}`, dayText(day), { meet_time: 68_400_000, ...place({ place_name, show_neighbourhood: true }) });
const rsvp = (i: number) => says(star, 'GOING', 'ride0', dayText(firstDay + i));
