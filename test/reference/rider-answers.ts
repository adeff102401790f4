import type { Night, Rider } from '../../schemas/events/records.ts';
import { dayOf, localDay } from './dates.ts';
import type { Facts } from './facts.ts';
import { answersTo, type PostedNight, postedNights, ridersGoing } from './nights.ts';
import type { MetroRange } from './requests.ts';

/** The signed-in rider's own layer: each function takes an existing rider and inputs that are right. */

const daysBack = 30;
const daysAhead = 90;
const namesMax = 2;

type Why = 'led' | 'going' | 'ridden' | 'saved';

/** MyNights (docs/rules.md#my-nights, #why). */
export function myNightsAnswer(facts: Facts, clockMs: number, reader: string) {
  const mine: { posted: PostedNight; why: Why }[] = [];
  const inWindow = postedNights(facts, clockMs, (night, _ride, metro) => {
    const today = localDay(metro.time_zone, clockMs);
    return night.day >= today - daysBack && night.day <= today + daysAhead;
  });
  for (const posted of inWindow) {
    const why = whyItIs(facts, posted, reader);
    if (why) mine.push({ posted, why });
  }
  const posted = mine.map((night) => night.posted);
  return {
    nights: mine.map((night) => ({ night: night.posted.answer, why: night.why })),
    flagged: flaggedNights(facts, reader, posted),
  };
}

function whyItIs(facts: Facts, posted: PostedNight, reader: string): Why | null {
  if (posted.ride.leaders.includes(reader)) return 'led';
  const own = answersTo(facts, posted.night).find((answer) => answer.rider === reader);
  if (!own) return null;
  if (own.response === 'CONFIRMED' && posted.answer.past) return 'ridden';
  if (own.response === 'GOING' || own.response === 'CONFIRMED') return 'going';
  return own.saved ? 'saved' : null;
}

/** KnownNights (docs/rules.md#known), or null where there is no such metro. */
export function knownAnswer(facts: Facts, clockMs: number, reader: string, range: MetroRange) {
  const nights = nightsOfRange(facts, clockMs, range);
  if (!nights) return null;
  const known = nights.map((posted) => {
    const followed = ridersGoing(facts, posted.night)
      .map((rider) => friendAnswer(facts, reader, rider))
      .filter((friend) => friend !== null)
      .filter((friend) => friend.following);
    const names = closeFirst(followed)
      .slice(0, namesMax)
      .map(({ handle, name, flagged }) => ({ handle, name, flagged }));
    return { ride: posted.answer.ride, day: posted.answer.day, known: followed.length, names };
  });
  return { nights: known.filter((night) => night.known > 0) };
}

/** FriendNights (docs/rules.md#friends), or null where there is no such metro. */
export function friendsAnswer(facts: Facts, clockMs: number, reader: string, range: MetroRange, onlyClose: boolean) {
  const nights = nightsOfRange(facts, clockMs, range);
  if (!nights) return null;
  const shown = nights
    .map((posted) => ({ posted, friends: friendsGoing(facts, reader, posted) }))
    .filter(({ friends }) => friends.some((friend) => friend.close || !onlyClose));
  const hasClose = ({ friends }: (typeof shown)[number]): boolean => friends.some((friend) => friend.close);
  const inOrder = [...shown.filter(hasClose), ...shown.filter((night) => !hasClose(night))];
  const posted = shown.map((night) => night.posted);
  return {
    nights: inOrder.map((night) => ({ night: night.posted.answer, friends: night.friends })),
    flagged: flaggedNights(facts, reader, posted),
  };
}

/** FlaggedNights (docs/rules.md#flagged), or null where there is no such metro. */
export function flaggedAnswer(facts: Facts, clockMs: number, reader: string, range: MetroRange) {
  const nights = nightsOfRange(facts, clockMs, range);
  return nights && { nights: flaggedNights(facts, reader, nights) };
}

function nightsOfRange(facts: Facts, clockMs: number, { metro, from, to }: MetroRange): PostedNight[] | null {
  const isInRange = ({ day }: Night) => day >= dayOf(from!)! && day <= dayOf(to!)!;
  if (!facts.metros.has(metro!)) return null;
  return postedNights(facts, clockMs, (night, ride) => ride.metro === metro && isInRange(night));
}

type FriendAnswer = NonNullable<ReturnType<typeof friendAnswer>>;

/** What a friend's entry says, in the order of its fields; null for whoever is no friend, or blocked either way. */
function friendAnswer(facts: Facts, reader: string, rider: Rider) {
  const relation = facts.relations.get(`${reader}/${rider.rider}`);
  if (!relation || (!relation.follows && !relation.close)) return null;
  if (relation.blocked || facts.relations.get(`${rider.rider}/${reader}`)?.blocked) return null;
  const { close, follows: following, flagged } = relation;
  return { handle: rider.handle, name: rider.name, close, following, flagged };
}

function friendsGoing(facts: Facts, reader: string, posted: PostedNight): FriendAnswer[] {
  const friends = ridersGoing(facts, posted.night).map((rider) => friendAnswer(facts, reader, rider));
  return closeFirst(friends.filter((friend) => friend !== null));
}

function closeFirst(friends: FriendAnswer[]): FriendAnswer[] {
  return [...friends.filter((friend) => friend.close), ...friends.filter((friend) => !friend.close)];
}

/** FlaggedNights of some nights, in their order. A flag shows whatever the blocks say. */
function flaggedNights(facts: Facts, reader: string, nights: PostedNight[]) {
  return nights
    .map((posted) => ({
      ride: posted.answer.ride,
      day: posted.answer.day,
      riders: ridersGoing(facts, posted.night)
        .filter((rider) => facts.relations.get(`${reader}/${rider.rider}`)?.flagged)
        .map(({ handle, name }) => ({ handle, name })),
    }))
    .filter((night) => night.riders.length > 0);
}
