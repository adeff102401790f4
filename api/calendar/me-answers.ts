import type { Inputs } from '../../schemas/interface/inputs.ts';
import { dayText, parseDay } from '../../schemas/views/days.ts';
import { decodeOwn, type FieldKind, goingBits, ownBits, type ReaderField } from '../../schemas/views/reader-fields.ts';
import type { ByteText } from '../messages/encoded-body.ts';
import { Goings } from './goings.ts';
import { dayAt, isPast } from './views/local-days.ts';
import { byNight, type NamedViews, type NightView, nightNames } from './views/named-views.ts';

/** Bodies of the riders' own operations, joined from stored bytes. Keys are in the order of schemas/interface/answers.ts. */

// docs/rules.md#my-nights, #known
export const daysBack = 30;
export const daysAhead = 90;
const namesMax = 2;

/** The fields of a reader's hash, by kind. Days and weeks without a field are left out. */
export type ReaderFields = Record<FieldKind, ReaderField[]>;

/** What a rider's answer is made from. */
interface MeSource {
  fields: ReaderFields;
  views: NamedViews;
  nowMs: number;
}

/** Names the views that an answer shows. What it returns makes the body once they are read. */
export type Naming = (source: MeSource) => () => ByteText;

/** MyNights (docs/rules.md#my-nights). The window of days and `why` follow the clock in each night's own zone. */
export const myNights: Naming = ({ fields, views, nowMs }) => {
  const own: { place: number; bits: number }[] = [];
  for (const field of fields.o)
    decodeOwn(field, nightNames, (name, bits) => {
      const place = views.nights.placeOf(name);
      views.said.push(bits);
      own.push({ place, bits });
    });
  const flagged = new Goings(fields.x, views, views.nights.has);
  return () => {
    const mine: { night: NightView; bits: number }[] = [];
    for (const { place, bits } of own) {
      const night = views.nights.views[place];
      if (night && isInWindow(night, nowMs)) mine.push({ night, bits });
    }
    const items = mine.sort(byNight).map(({ night, bits }) => {
      const past = isPast(night.day, dayAt(night.zone, nowMs));
      return `{"night":${night.json(past)},"why":"${why(bits, past)}"}`;
    });
    return `{"nights":[${listOf(items)}],"flagged":${flaggedOn(flagged, mine)}}`;
  };
};

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

/** KnownNights (docs/rules.md#known): how many riders whom the reader follows, and two names at most, close first. */
export const knownNights =
  ({ metro }: Inputs<'getKnown'>): Naming =>
  ({ fields, views }) => {
    const friends = new Goings(fields.f, views, () => true);
    return () => {
      const nights = friends.gather(
        (night) =>
          night.metro === metro ? { night, known: 0, close: [] as ByteText[], others: [] as ByteText[] } : null,
        (item, rider, bits) => {
          if ((bits & goingBits.follows) === 0) return;
          item.known += 1;
          const names = bits & goingBits.close ? item.close : item.others;
          if (names.length < namesMax) names.push(rider.known(bits));
        },
      );
      const items = nights
        .filter(({ known }) => known > 0)
        .map(({ night, known, close, others }) => {
          const names = [...close, ...others].slice(0, namesMax);
          return `{${idOf(night)},"known":${known},"names":[${names.join()}]}`;
        });
      return `{"nights":[${listOf(items)}]}`;
    };
  };

/** FriendNights (docs/rules.md#friends): nights with a close friend first, then the order of nights. */
export const friendNights =
  ({ metro, close_friends_only }: Inputs<'getFriends'>): Naming =>
  ({ fields, views, nowMs }) => {
    const friends = new Goings(fields.f, views, () => true);
    const flagged = new Goings(fields.x, views, views.nights.has);
    return () => {
      const nights = friends.gather(
        (night) => (night.metro === metro ? { night, close: '', others: '' } : null),
        (item, rider, bits) => {
          if (bits & goingBits.close) item.close += rider.friend(bits, item.close === '');
          else item.others += rider.friend(bits, item.others === '');
        },
      );
      // docs/rules.md#close-friends-only
      const rest = close_friends_only ? [] : nights.filter(({ close, others }) => close === '' && others !== '');
      const all = [...nights.filter(({ close }) => close !== ''), ...rest];
      const items = all.map(({ night, close, others }) => {
        const between = close === '' || others === '' ? '' : ',';
        const json = night.json(isPast(night.day, dayAt(night.zone, nowMs)));
        return `{"night":${json},"friends":[${close}${between}${others}]}`;
      });
      return `{"nights":[${listOf(items)}],"flagged":${flaggedOn(flagged, all)}}`;
    };
  };

/** FlaggedNights (docs/rules.md#flagged) from a day to a day. A field shows a whole week, so its other days are left out. */
export const flaggedNights =
  (inputs: Inputs<'getFlagged'>): Naming =>
  ({ fields, views }) => {
    const [from, to] = [parseDay(inputs.from)!, parseDay(inputs.to)!];
    const flagged = new Goings(fields.x, views, (_, day) => day >= from && day <= to);
    return () => `{"nights":${flaggedWhere(flagged, (night) => night.metro === inputs.metro)}}`;
  };

/** The flagged riders of the nights that are listed. */
function flaggedOn(flagged: Goings, nights: readonly { night: NightView }[]): ByteText {
  const listed = new Set(nights.map(({ night }) => night));
  return flaggedWhere(flagged, (night) => listed.has(night));
}

function flaggedWhere(flagged: Goings, passes: (night: NightView) => boolean): ByteText {
  // Close friends do not come first here.
  const nights = flagged.gather(
    (night) => (passes(night) ? { night, riders: [] as ByteText[] } : null),
    ({ riders }, rider) => riders.push(rider.flagged()),
  );
  const items = nights
    .filter(({ riders }) => riders.length > 0)
    .map(({ night, riders }) => `{${idOf(night)},"riders":[${listOf(riders)}]}`);
  return `[${listOf(items)}]`;
}

/** With commas between them. `join` would copy them. */
const listOf = (items: readonly ByteText[]): ByteText =>
  items.reduce((list, item) => (list === '' ? item : `${list},${item}`), '');

const idOf = (night: NightView): ByteText => `"ride":"${night.ride}","day":"${dayText(night.day)}"`;
