import type { Inputs } from '../../schemas/interface/inputs.ts';
import { dayText, parseDay } from '../../schemas/views/days.ts';
import { compareNights } from '../../schemas/views/order-of-nights.ts';
import { decodeOwn, type FieldKind, goingBits, ownBits, parseRideOfWeek } from '../../schemas/views/reader-fields.ts';
import { Goings, type ReaderField } from './goings.ts';
import { dayAt, isPast } from './views/local-days.ts';
import { type ByteText, bytesOf, NamedViews, type NightView } from './views/named-views.ts';
import type { ViewCache } from './views/view-cache.ts';

/** Bodies of the riders' own operations, joined from stored bytes. Keys are in the order of schemas/interface/answers.ts. */

// docs/rules.md#my-nights, #known
export const daysBack = 30;
export const daysAhead = 90;
const namesMax = 2;

/** The fields of a reader's hash, by kind. Days and weeks without a field are left out. */
export type ReaderFields = Record<FieldKind, ReaderField[]>;

/** What a rider's answer is made from. */
export interface MeSource {
  fields: ReaderFields;
  cache: ViewCache;
  nowMs: number;
}

/** MyNights (docs/rules.md#my-nights). The window of days and `why` follow the clock in each night's own zone. */
export async function myNights(source: MeSource): Promise<Buffer> {
  const views = new NamedViews();
  const named = source.fields.o.flatMap(({ first, value }) =>
    decodeOwn(value, first).map(({ day, ride, bits }) => ({ bits, named: views.night(ride, day) })),
  );
  const flagged = flaggedOfNamed(source.fields.x, views);
  await views.load(source.cache);
  const mine = named
    .flatMap(({ named: { view }, bits }) => (view && isInWindow(view, source.nowMs) ? [{ night: view, bits }] : []))
    .sort((a, b) => compareNights(a.night, b.night));
  const items = mine.map(({ night, bits }) => {
    const past = isPastNow(night, source);
    return `{"night":${night.json(past)},"why":"${why(bits, past)}"}`;
  });
  return bytesOf(`{"nights":[${listOf(items)}],"flagged":${flaggedOn(flagged, mine)}}`);
}

export function isInWindow({ day, zone }: Pick<NightView, 'day' | 'zone'>, nowMs: number): boolean {
  const daysAway = day - dayAt(zone, nowMs);
  return daysAway >= -daysBack && daysAway <= daysAhead;
}

/** Why a night is the rider's: the first reason that applies (docs/rules.md#why). */
function why(bits: number, past: boolean): string {
  if (bits & ownBits.led) return 'led';
  if (bits & ownBits.confirmed && past) return 'ridden';
  return bits & (ownBits.going | ownBits.confirmed) ? 'going' : 'saved';
}

const isPastNow = ({ day, zone }: NightView, { nowMs }: MeSource): boolean => isPast(day, dayAt(zone, nowMs));

/** KnownNights (docs/rules.md#known): how many riders whom the reader follows, and two names at most, close first. */
export async function knownNights({ fields, cache }: MeSource, { metro }: Inputs<'getKnown'>): Promise<Buffer> {
  const views = new NamedViews();
  const friends = friendsOf(fields.f, views);
  await views.load(cache);
  const items: ByteText[] = [];
  for (const { night, cards, bits } of friends.gather((night) => night.metro === metro)) {
    let known = 0;
    const close: ByteText[] = [];
    const others: ByteText[] = [];
    for (let i = 0; i < cards.length; i++) {
      if ((bits[i]! & goingBits.follows) === 0) continue;
      known += 1;
      const names = bits[i]! & goingBits.close ? close : others;
      if (names.length < namesMax) names.push(cards[i]!.known(bits[i]!));
    }
    const names = [...close, ...others].slice(0, namesMax);
    if (known > 0) items.push(`{${idOf(night)},"known":${known},"names":[${names.join()}]}`);
  }
  return bytesOf(`{"nights":[${listOf(items)}]}`);
}

/** FriendNights (docs/rules.md#friends): nights with a close friend first, then the order of nights. */
export async function friendNights(source: MeSource, inputs: Inputs<'getFriends'>): Promise<Buffer> {
  const { metro, close_friends_only } = inputs;
  const views = new NamedViews();
  const friends = friendsOf(source.fields.f, views);
  const flagged = flaggedOfNamed(source.fields.x, views);
  await views.load(source.cache);
  const withClose: { night: NightView; json: ByteText }[] = [];
  const others: typeof withClose = [];
  for (const { night, cards, bits } of friends.gather((night) => night.metro === metro)) {
    let [close, rest] = ['', ''];
    for (let i = 0; i < cards.length; i++) {
      if (bits[i]! & goingBits.close) close += cards[i]!.friend(bits[i]!, close === '');
      else rest += cards[i]!.friend(bits[i]!, rest === '');
    }
    // docs/rules.md#close-friends-only
    if (close === '' && close_friends_only) continue;
    const between = close === '' || rest === '' ? '' : ',';
    const json = `{"night":${night.json(isPastNow(night, source))},"friends":[${close}${between}${rest}]}`;
    (close === '' ? others : withClose).push({ night, json });
  }
  const all = [...withClose, ...others];
  return bytesOf(`{"nights":[${listOf(all.map(({ json }) => json))}],"flagged":${flaggedOn(flagged, all)}}`);
}

const friendsOf = (fields: readonly ReaderField[], views: NamedViews): Goings =>
  new Goings(fields, views, (ride, day) => views.night(ride, day));

/** Flagged riders on nights that other fields name already, because only those nights are listed. */
const flaggedOfNamed = (fields: readonly ReaderField[], views: NamedViews): Goings =>
  new Goings(fields, views, (text, week) => {
    const { ride, day } = parseRideOfWeek(text, week);
    return views.namedNight(ride, day);
  });

/** FlaggedNights (docs/rules.md#flagged) from a day to a day. A field shows a whole week, so its other days are left out. */
export async function flaggedNights({ fields, cache }: MeSource, inputs: Inputs<'getFlagged'>): Promise<Buffer> {
  const [from, to] = [parseDay(inputs.from)!, parseDay(inputs.to)!];
  const views = new NamedViews();
  const flagged = new Goings(fields.x, views, (text, week) => {
    const { ride, day } = parseRideOfWeek(text, week);
    return day >= from && day <= to ? views.night(ride, day) : undefined;
  });
  await views.load(cache);
  return bytesOf(`{"nights":${flaggedWhere(flagged, (night) => night.metro === inputs.metro)}}`);
}

/** The flagged riders of the nights that are listed. */
function flaggedOn(flagged: Goings, nights: readonly { night: NightView }[]): ByteText {
  const listed = new Set(nights.map(({ night }) => night));
  return flaggedWhere(flagged, (night) => listed.has(night));
}

function flaggedWhere(flagged: Goings, passes: (night: NightView) => boolean): ByteText {
  // Close friends do not come first here.
  const items = flagged
    .gather(passes)
    .map(({ night, cards }) => `{${idOf(night)},"riders":[${listOf(cards.map((card) => card.flagged()))}]}`);
  return `[${listOf(items)}]`;
}

/** With commas between them. `join` would copy them. */
const listOf = (items: readonly ByteText[]): ByteText =>
  items.reduce((list, item) => (list === '' ? item : `${list},${item}`), '');

const idOf = (night: NightView): ByteText => `"ride":"${night.ride}","day":"${dayText(night.day)}"`;
