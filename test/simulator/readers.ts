import { dayAt } from '../../api/calendar/views/local-days.ts';
import { type Answer, textOf } from '../../api/messages/answer.ts';
import type { AnyRecord, Attendance, Night, Relation, Ride } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { type Judge, Misled, type Observed } from './judge.ts';
import {
  days,
  developerKey,
  metro,
  nightId,
  reader,
  revokedKey,
  revokedKeyIds,
  riders,
  rides,
  timeZone,
} from './world.ts';

/** What can be asked, and what the answers tell. */
export interface Question {
  path: string;
  headers: Record<string, string>;
  /** What an answer of status 200, 404 or 401 tells. */
  tells(status: number, body: Body): Generator<Observed>;
}

interface ShownNight {
  ride: string;
  day: string;
  title: string;
  past: boolean;
  meeting: { place_name: string };
}
type Shown = { handle: string }[];
interface Body {
  title?: string;
  nights?: (ShownNight & { night: ShownNight; why: string; friends: Shown; riders: Shown })[];
}

const range = `metro=${metro}&from=${dayText(days[0])}&to=${dayText(days[1])}`;
const withKey = { 'x-api-key': developerKey };
const withToken = { authorization: `Bearer ${reader}` };

export const questions: readonly Question[] = [
  ...rides.map((ride) => ({ path: `/rides/${ride}`, headers: withKey, tells: tellsOfRide(ride) })),
  ...days.map((day) => ({ path: `/metros/${metro}/days/${dayText(day)}`, headers: withKey, tells: tellsOfDay(day) })),
  { path: `/me/friends?${range}`, headers: withToken, tells: tellsOfOthers('friends') },
  { path: `/me/flagged?${range}`, headers: withToken, tells: tellsOfOthers('riders') },
];

/** Asked with a key that comes and goes. */
export const questionWithRevokedKey: Question = {
  path: `/rides/${rides[0]}`,
  headers: { 'x-api-key': revokedKey },
  *tells(status, body) {
    yield {
      what: 'whether a key is live',
      depends: revokedKeyIds.map((id) => `developer-keys ${id}`),
      show: (records) => records.some((record) => record !== null),
      shown: status !== 401,
    };
    if (status !== 401) yield* tellsOfRide(rides[0]!)(status, body);
  },
};

/** Reads months of days: asked less often. */
export const ownNights: Question = { path: '/me/nights', headers: withToken, tells: tellsOfMine };

const titleOf = (ride: AnyRecord | null): string | null =>
  (ride as Ride | null)?.posted ? (ride as Ride).title : null;
const placeOf = (night: AnyRecord | null): string | null => (night as Night | null)?.meeting?.place_name ?? null;
const isGoing = (rsvp: AnyRecord | null): boolean => (rsvp as Attendance | null)?.response === 'GOING';
const isPublished = (ride: AnyRecord | null, night: AnyRecord | null): boolean =>
  titleOf(ride) !== null && night !== null;

function tellsOfRide(ride: string) {
  return function* (status: number, body: Body): Generator<Observed> {
    yield {
      what: `title of ${ride}`,
      depends: [`rides ${ride}`],
      show: ([record]) => titleOf(record!),
      shown: status === 404 ? null : body.title!,
    };
    if (status === 404) return;
    for (const day of days) {
      const night = body.nights!.find((each) => each.day === dayText(day));
      yield {
        what: `place of ${ride} on ${dayText(day)}`,
        depends: [`nights ${nightId(ride, day)}`],
        show: ([record]) => placeOf(record!),
        shown: night?.meeting.place_name ?? null,
      };
    }
  };
}

function tellsOfDay(day: number) {
  return function* (status: number, body: Body): Generator<Observed> {
    if (status === 404) throw new Misled('a reader was told that the metro does not exist');
    for (const ride of rides) {
      const night = body.nights!.find((each) => each.ride === ride);
      yield {
        what: `${ride} on the day ${dayText(day)}`,
        depends: [`rides ${ride}`, `nights ${nightId(ride, day)}`],
        show: ([ride, night]) => (isPublished(ride!, night!) ? `${titleOf(ride!)} ${placeOf(night!)}` : null),
        shown: night ? `${night.title} ${night.meeting.place_name}` : null,
      };
    }
  };
}

const allNights = rides.flatMap((ride) => days.map((day) => [ride, day] as const));

function* tellsOfMine(_: number, body: Body): Generator<Observed> {
  for (const [ride, day] of allNights) {
    const found = body.nights!.find(({ night }) => night.ride === ride && night.day === dayText(day));
    yield {
      what: `own night ${ride} on ${dayText(day)}`,
      depends: [`attendance ${nightId(ride, day)}/${reader}`, `rides ${ride}`, `nights ${nightId(ride, day)}`],
      show: ([rsvp, ride, night]) => {
        if (!isPublished(ride!, night!)) return null;
        return isGoing(rsvp!) ? 'going' : (rsvp as Attendance | null)?.saved ? 'saved' : null;
      },
      shown: found?.why ?? null,
    };
  }
}

/** Friends, or flagged riders, who go to a night. */
function tellsOfOthers(list: 'friends' | 'riders') {
  return function* (_: number, body: Body): Generator<Observed> {
    for (const [ride, day] of allNights) {
      const found = body.nights!.find((each) => {
        const night = list === 'friends' ? each.night : each;
        return night.ride === ride && night.day === dayText(day);
      });
      for (const other of riders.filter((rider) => rider !== reader)) {
        yield {
          what: `${other} among the ${list} of ${ride} on ${dayText(day)}`,
          depends: [
            `relations ${reader}/${other}`,
            `relations ${other}/${reader}`,
            `attendance ${nightId(ride, day)}/${other}`,
            `riders ${other}`,
            `rides ${ride}`,
            `nights ${nightId(ride, day)}`,
          ],
          show: ([relation, back, rsvp, rider, ride, night]) => {
            if (!isGoing(rsvp!) || !rider || !isPublished(ride!, night!)) return false;
            const { follows, flagged, blocked } = (relation as Relation | null) ?? {};
            if (list === 'riders') return flagged === true;
            return follows === true && !blocked && !(back as Relation | null)?.blocked;
          },
          shown: found?.[list].some(({ handle }) => handle === other) ?? false,
        };
      }
    }
  };
}

/** Hears an answer. `between`: the calendar's clock when it was asked, and when it was answered. */
export type Reader = (question: Question, answer: Answer, between: readonly [number, number]) => void;

/** Has every answer judged. */
export function judging(name: string, judge: Judge): Reader {
  const last = new Map<string, { body: string; parsed: Body }>();
  return (question, answer, between) => {
    const { path, tells } = question;
    const { status } = answer;
    const body = textOf(answer);
    const mayBeRefused = question === questionWithRevokedKey;
    if (status === 503) return;
    if (status !== 200 && status !== 404 && !(status === 401 && mayBeRefused))
      throw new Misled(`${name} got status ${status} for ${path}`);
    const asked = `${path.split('?')[0]}${mayBeRefused ? ' with a key that comes and goes' : ''}`;
    if (last.get(asked)?.body !== body) {
      const parsed = JSON.parse(body) as Body;
      for (const told of tells(status, parsed)) judge.told(`${name} at ${asked}`, told);
      last.set(asked, { body, parsed });
    }
    // A night is past as soon as its day is over, by the clock alone.
    for (const each of last.get(asked)!.parsed.nights ?? []) {
      const night = each.night ?? each;
      if (night.past === undefined) continue;
      const right = between.some((ms) => night.past === dayText(dayAt(timeZone, ms)) > night.day);
      if (!right) throw new Misled(`${name} was told at ${asked} that ${night.day} is${night.past ? '' : ' not'} past`);
    }
  };
}
