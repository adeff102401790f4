import type { Inputs } from '../../schemas/interface/inputs.ts';
import { dayText } from '../../schemas/views/days.ts';
import { decodeOwn, goingBits, ownBits } from '../../schemas/views/view-values.ts';
import { type ByteText, bytesOf } from './byte-text.ts';
import { type DayField, type Gathering, Goings } from './goings.ts';
import type { LocalDays } from './local-days.ts';
import { type NamedNight, NamedViews } from './named-views.ts';
import { NightView } from './night-view.ts';
import type { ViewCache } from './view-cache.ts';

/** Bodies of the riders' own operations, joined from stored bytes in the order of their schemas' keys. */

// docs/rules.md#my-nights, #known
export const daysBack = 30;
export const daysAhead = 90;
const namesMax = 2;

/**
 * The fields of a reader's hash, by kind: own nights (`o`), friends going (`f`), flagged riders going (`x`). A day
 * without a field is left out.
 */
export type ReaderFields = Record<'o' | 'f' | 'x', DayField[]>;

/** What a rider's answer is made from. */
export interface MeSource {
  fields: ReaderFields;
  cache: ViewCache;
  localDays: LocalDays;
  nowMs: number;
}

/** MyNights (docs/rules.md#my-nights). The window of days and `why` follow the clock in each night's own zone. */
export async function myNights(source: MeSource): Promise<Buffer> {
  const views = new NamedViews();
  const named = source.fields.o.flatMap(({ day, value }) =>
    decodeOwn(value).map(({ ride, bits }) => ({ bits, named: views.night(ride, day) })),
  );
  const flagged = new Goings(source.fields.x, views, { onlyNamed: true });
  await views.load(source.cache);
  const mine = named.flatMap((own) => inWindow(own, source)).sort((a, b) => NightView.compare(a.night, b.night));
  let nights = '';
  for (const { night, bits } of mine) {
    const past = isPast(night, source);
    nights += `${nights === '' ? '' : ','}{"night":${night.json(past)},"why":"${why(bits, past)}"}`;
  }
  return bytesOf(`{"nights":[${nights}],"flagged":${flaggedOn(flagged, mine)}}`);
}

interface OwnNight {
  night: NightView;
  bits: number;
}

function inWindow(own: { bits: number; named: NamedNight }, { localDays, nowMs }: MeSource): OwnNight[] {
  const night = own.named.view;
  if (!night) return [];
  const daysAway = night.day - localDays.dayAt(night.zone, nowMs);
  return daysAway >= -daysBack && daysAway <= daysAhead ? [{ night, bits: own.bits }] : [];
}

/** Why a night is the rider's: the first reason that applies (docs/rules.md#why). */
function why(bits: number, past: boolean): string {
  if (bits & ownBits.led) return 'led';
  if (bits & ownBits.confirmed && past) return 'ridden';
  return bits & (ownBits.going | ownBits.confirmed) ? 'going' : 'saved';
}

const isPast = (night: NightView, { localDays, nowMs }: MeSource): boolean =>
  localDays.dayAt(night.zone, nowMs) > night.day;

/**
 * KnownNights (docs/rules.md#known): how many riders whom the reader follows, and up to two names, close friends first.
 */
export async function knownNights({ fields, cache }: MeSource, { metro }: Inputs<'getKnown'>): Promise<Buffer> {
  const views = new NamedViews();
  const friends = new Goings(fields.f, views);
  await views.load(cache);
  const nights = friends.gather(
    (night) => night.metro === metro,
    (card, bits) => (bits & goingBits.follows ? card.known(bits) : null),
  );
  const items = nights.map(({ night, close, others }) => {
    const riders = [...close, ...others];
    return `{${idOf(night)},"known":${riders.length},"names":[${riders.slice(0, namesMax).join()}]}`;
  });
  return bytesOf(`{"nights":[${items.join()}]}`);
}

/** FriendNights (docs/rules.md#friends): nights with a close friend first, then the order of nights. */
export async function friendNights(source: MeSource, inputs: Inputs<'getFriends'>): Promise<Buffer> {
  const { metro, close_friends_only } = inputs;
  const views = new NamedViews();
  const friends = new Goings(source.fields.f, views);
  const flagged = new Goings(source.fields.x, views, { onlyNamed: true });
  await views.load(source.cache);
  const gatherings = friends.gather(
    (night) => night.metro === metro,
    (card, bits) => card.friend(bits),
  );
  const withClose = gatherings.filter(({ close }) => close.length > 0);
  // docs/rules.md#close-friends-only
  const others = close_friends_only ? [] : gatherings.filter(({ close }) => close.length === 0);
  const listed = [...withClose, ...others];
  const nights = listed.map((gathering) => friendNight(gathering, isPast(gathering.night, source)));
  return bytesOf(`{"nights":[${nights.join()}],"flagged":${flaggedOn(flagged, listed)}}`);
}

function friendNight({ night, close, others }: Gathering, past: boolean): ByteText {
  let friends = '';
  for (const friend of close) friends += friends === '' ? friend : `,${friend}`;
  for (const friend of others) friends += friends === '' ? friend : `,${friend}`;
  return `{"night":${night.json(past)},"friends":[${friends}]}`;
}

/** FlaggedNights (docs/rules.md#flagged). */
export async function flaggedNights({ fields, cache }: MeSource, { metro }: Inputs<'getFlagged'>): Promise<Buffer> {
  const views = new NamedViews();
  const flagged = new Goings(fields.x, views);
  await views.load(cache);
  return bytesOf(`{"nights":${flaggedWhere(flagged, (night) => night.metro === metro)}}`);
}

/** The flagged riders of the nights that are listed. */
function flaggedOn(flagged: Goings, nights: readonly { night: NightView }[]): ByteText {
  const listed = new Set(nights.map(({ night }) => night));
  return flaggedWhere(flagged, (night) => listed.has(night));
}

function flaggedWhere(flagged: Goings, passes: (night: NightView) => boolean): ByteText {
  // In the order of riders: being close moves nobody here.
  const nights = flagged.gather(passes, (card) => card.flagged(), { closeFirst: false });
  return `[${nights.map(({ night, others }) => `{${idOf(night)},"riders":[${others.join()}]}`).join()}]`;
}

const idOf = (night: NightView): ByteText => `"ride":"${night.ride}","day":"${dayText(night.day)}"`;
