import type { Inputs } from '../../schemas/interface/inputs.ts';
import { goingBits, type OwnNight, ownBits } from '../../schemas/views/view-values.ts';
import {
  closeFirst,
  dayOfNight,
  inOrderOfNights,
  isPast,
  type KnownRider,
  type MeViews,
  type NightRiders,
  ridersByNight,
} from './me-views.ts';
import type { NightView } from './night-view.ts';

/** Bodies of the riders' own operations, joined from stored bytes in the order of their schemas' keys. */

// docs/rules.md#my-nights, #known
export const daysBack = 30;
export const daysAhead = 90;
const namesMax = 2;

const text = (value: string): Buffer => Buffer.from(value);

const nightHead = text('{"night":');
const comma = text(',');

/** `head`, the items with commas between them, `tail`. One allocation, because answers are tens of kilobytes. */
function joined(head: string, items: readonly (readonly Buffer[])[], tail: string): Buffer {
  const pieces = [text(head)];
  items.forEach((item, i) => {
    if (i > 0) pieces.push(comma);
    pieces.push(...item);
  });
  pieces.push(text(tail));
  return Buffer.concat(pieces);
}

/** MyNights (docs/rules.md#my-nights). The window of days and `why` follow the clock in each night's own zone. */
export function myNights(views: MeViews): Buffer {
  const mine = views.own
    .flatMap(({ day, nights }) => nights.map((own) => ({ own, night: views.night(own.ride, day) })))
    .filter((each): each is { own: OwnNight; night: NightView } => {
      if (!each.night) return false;
      const daysAway = each.night.day - views.localDays.dayAt(each.night.zone, views.nowMs);
      return daysAway >= -daysBack && daysAway <= daysAhead;
    })
    .sort(inOrderOfNights);
  const items = mine.map(({ own, night }) => {
    const past = isPast(views, night);
    return [nightHead, night.bytes(past), text(`,"why":"${why(own, past)}"}`)];
  });
  return joined('{"nights":[', items, `],"flagged":${flaggedOf(views, mine)}}`);
}

/** Why a night is the rider's: the first reason that applies (docs/rules.md#why). */
function why(own: OwnNight, past: boolean): string {
  if (own.bits & ownBits.led) return 'led';
  if (own.bits & ownBits.confirmed && past) return 'ridden';
  return own.bits & (ownBits.going | ownBits.confirmed) ? 'going' : 'saved';
}

/**
 * KnownNights (docs/rules.md#known): how many riders whom the reader follows, and up to two names, close friends first.
 */
export function knownNights(views: MeViews, { metro }: Inputs<'getKnown'>): Buffer {
  const nights = ridersByNight(
    views,
    views.friends,
    (night) => night.metro === metro,
    ({ bits }) => (bits & goingBits.follows) > 0,
  );
  return text(
    JSON.stringify({
      nights: nights.map(({ night, riders }) => ({
        ride: night.ride,
        day: dayOfNight(night),
        known: riders.length,
        names: riders
          .toSorted(closeFirst)
          .slice(0, namesMax)
          .map(({ card, bits }) => ({ handle: card.handle, name: card.name, flagged: (bits & goingBits.flagged) > 0 })),
      })),
    }),
  );
}

/** FriendNights (docs/rules.md#friends): nights with a close friend first, then the order of nights. */
export function friendNights(views: MeViews, { metro, close_friends_only }: Inputs<'getFriends'>): Buffer {
  // docs/rules.md#close-friends-only
  const hasClose = ({ riders }: NightRiders): boolean => riders.some(({ bits }) => (bits & goingBits.close) > 0);
  const nights = ridersByNight(
    views,
    views.friends,
    (night) => night.metro === metro,
    () => true,
  ).filter((gathering) => !close_friends_only || hasClose(gathering));
  const items = nights
    .toSorted((a, b) => Number(hasClose(b)) - Number(hasClose(a)))
    .map(({ night, riders }) => [
      nightHead,
      night.bytes(isPast(views, night)),
      text(`,"friends":[${riders.toSorted(closeFirst).map(friend).join()}]}`),
    ]);
  return joined('{"nights":[', items, `],"flagged":${flaggedOf(views, nights)}}`);
}

/** The end of a friend's JSON, by bits. */
const friendEnds = Array.from({ length: 8 }, (_, bits) => {
  const is = (bit: number) => (bits & bit) > 0;
  return `,"close":${is(goingBits.close)},"following":${is(goingBits.follows)},"flagged":${is(goingBits.flagged)}}`;
});
const friend = ({ card, bits }: KnownRider): string => `{${card.json}${friendEnds[bits]}`;

/** FlaggedNights (docs/rules.md#flagged). */
export function flaggedNightsOf(views: MeViews, { metro }: Inputs<'getFlagged'>): Buffer {
  const nights = ridersByNight(
    views,
    views.flagged,
    (night) => night.metro === metro,
    () => true,
  );
  return text(`{"nights":${flaggedNights(nights)}}`);
}

/** The flagged riders of the nights that are listed. */
function flaggedOf(views: MeViews, nights: readonly { night: NightView }[]): string {
  const listed = new Set(nights.map(({ night }) => night));
  return flaggedNights(
    ridersByNight(
      views,
      views.flagged,
      (night) => listed.has(night),
      () => true,
    ),
  );
}

function flaggedNights(nights: readonly NightRiders[]): string {
  const items = nights.map(({ night, riders }) => {
    const flagged = riders.map(({ card }) => `{${card.json}}`);
    return `{"ride":"${night.ride}","day":"${dayOfNight(night)}","riders":[${flagged.join()}]}`;
  });
  return `[${items.join()}]`;
}
