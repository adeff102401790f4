import type { Attendance, Metro, Night, Ride, Rider } from '../../schemas/events/records.ts';
import { dayText, localDay } from './dates.ts';
import type { Facts } from './facts.ts';
import { compareText, fold } from './text.ts';

/** A Night, in the order of its fields. */
export type NightAnswer = ReturnType<typeof nightAnswer>;

/** A night of a posted ride of a known metro: the answer and the facts it was made of. */
export interface PostedNight {
  answer: NightAnswer;
  night: Night;
  ride: Ride;
  metro: Metro;
}

/** Every night that may appear anywhere and that `keep` takes, in the order of nights. */
export function postedNights(
  facts: Facts,
  clockMs: number,
  keep: (night: Night, ride: Ride, metro: Metro) => boolean,
): PostedNight[] {
  const found: PostedNight[] = [];
  for (const night of facts.nights.values()) {
    const ride = facts.rides.get(night.ride);
    if (!ride?.posted) continue;
    const metro = facts.metros.get(ride.metro);
    if (!metro || !keep(night, ride, metro)) continue;
    found.push({ answer: nightAnswer(facts, clockMs, night, ride, metro), night, ride, metro });
  }
  return found.sort(inOrderOfNights);
}

function nightAnswer(facts: Facts, clockMs: number, night: Night, ride: Ride, metro: Metro) {
  return {
    ride: ride.ride,
    title: ride.title,
    day: dayText(night.day),
    meet_time: night.meet_time === null ? null : wallClock(night.meet_time),
    time_zone: metro.time_zone,
    status: night.status === 'CANCELLED' ? 'cancelled' : 'on',
    cancellation_reason: night.status === 'CANCELLED' ? night.cancellation_reason : null,
    past: localDay(metro.time_zone, clockMs) > night.day,
    going_count: ridersGoing(facts, night).length,
    meeting: meetingAnswer(facts, night),
    url: night.url,
  };
}

function wallClock(timeMs: number): string {
  const minutes = timeMs / 60_000;
  return [Math.floor(minutes / 60), minutes % 60].map((n) => String(n).padStart(2, '0')).join(':');
}

/** A Meeting, in the order of its fields. */
function meetingAnswer(facts: Facts, { meeting }: Night) {
  if (!meeting) return { withheld: false, place_name: null, neighbourhood: null, neighbourhood_slug: null };
  const shown = !meeting.secret || meeting.show_neighbourhood;
  const district = shown && meeting.district !== null ? facts.districts.get(meeting.district) : undefined;
  return {
    withheld: meeting.secret,
    place_name: meeting.secret ? null : meeting.place_name,
    neighbourhood: district ? district.name : null,
    neighbourhood_slug: district?.kind === 'DISTRICT' ? district.district : null,
  };
}

/** The answers of existing riders to one night. */
export function answersTo(facts: Facts, night: Night): Attendance[] {
  return [...facts.attendance.values()].filter(
    (answer) => answer.ride === night.ride && answer.day === night.day && facts.riders.has(answer.rider),
  );
}

/** The existing riders who said going or confirmed, in the order of riders. */
export function ridersGoing(facts: Facts, night: Night): Rider[] {
  return answersTo(facts, night)
    .filter((answer) => answer.response !== 'NONE')
    .map((answer) => facts.riders.get(answer.rider)!)
    .sort(inOrderOfRiders);
}

function inOrderOfNights(a: PostedNight, b: PostedNight): number {
  const last = Number.POSITIVE_INFINITY;
  const [timeA, timeB] = [a.night.meet_time ?? last, b.night.meet_time ?? last];
  if (a.night.day !== b.night.day) return a.night.day - b.night.day;
  if (timeA !== timeB) return timeA < timeB ? -1 : 1;
  return compareText(a.ride.title, b.ride.title) || compareText(a.ride.ride, b.ride.ride);
}

function inOrderOfRiders(a: Rider, b: Rider): number {
  return (
    compareText(fold(a.name ?? a.handle), fold(b.name ?? b.handle)) ||
    compareText(a.handle, b.handle) ||
    compareText(a.rider, b.rider)
  );
}
