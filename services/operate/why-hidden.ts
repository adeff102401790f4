import { isInWindow } from '../../api/calendar/me-answers.ts';
import type { EdgeLists } from '../../projector/facts/edge-lists.ts';
import { blocked, type Facts, flagged, follows, goes, isBlocked, isFriend } from '../../projector/facts/facts.ts';
import {
  type MetroNumber,
  type NightNumber,
  noNight,
  type RideNumber,
  type RiderNumber,
} from '../../projector/facts/numbers.ts';
import * as views from '../../projector/views/night.ts';
import { ownNights } from '../../projector/views/reader.ts';
import { fieldsOfKey } from '../../schemas/events/record-keys.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { dayText, weekOf } from '../../schemas/views/days.ts';

/**
 * Where a record may show: on a night, by a rider who goes there, in a reader's own answers. Numbers are those of the facts, -1
 * where nothing has named it. What is absent does not matter there, or there is none.
 */
interface Spot {
  metro?: MetroNumber;
  developerKey?: number;
  ride?: RideNumber | undefined;
  night?: NightNumber | undefined;
  day?: number | undefined;
  goer?: RiderNumber | undefined;
  reader?: RiderNumber | undefined;
  district?: string;
}

/** Whose own answers are asked for, besides the public ones; null: nobody's. `nowMs`: the calendar's clock. */
interface As {
  rider: string | null;
  nowMs: number;
  isReadable?: boolean;
}

const bitsOf = <A extends number, B extends number>(lists: EdgeLists<A, B>, of?: A, to?: B): number =>
  of === undefined || of < 0 || to === undefined || to < 0 ? 0 : lists.get(of, to);
const idsIn = <A extends number, B extends number>(lists: EdgeLists<A, B>, of: A): B[] =>
  Array.from({ length: of < 0 ? 0 : lists.length(of) }, (_, i) => lists.id(of, i));
const marks = ({ relations }: Facts, { reader, goer }: Spot): number => bitsOf(relations, reader, goer);
const goesThere = ({ attendance }: Facts, { goer, night }: Spot): boolean => goes(bitsOf(attendance, goer, night));
const recordOf = ({ nightRecords }: Facts, { night }: Spot) =>
  night === undefined ? null : (nightRecords[night] ?? null);
const meetingOf = (facts: Facts, spot: Spot) => recordOf(facts, spot)?.meeting ?? null;
const lacksDistrict = (facts: Facts, spot: Spot): boolean => {
  const district = spot.district ?? meetingOf(facts, spot)?.district ?? null;
  return district !== null && !facts.districts.has(district);
};
/** Whoever leads a ride has its nights even before these have records. */
const isOwn = (facts: Facts, { reader, ride, night, day = 0 }: Spot): boolean => {
  if (reader === undefined) return false;
  const ofWeek = ownNights(facts, reader, new Set([day])).get(weekOf(day));
  const isNamed = night !== undefined && (ofWeek?.get(night)?.bits ?? 0) > 0;
  return isNamed || (ride !== undefined && facts.led.get(reader)?.has(ride) === true);
};

type Hides = (facts: Facts, spot: Spot, as: As, why: string) => boolean;
const hidesNight: Hides = (facts, { ride, night }, _, why) =>
  ride !== undefined &&
  (night === undefined ? views.rideHidings(facts, ride) : views.nightHidings(facts, night, ride)).some(
    (one) => one === why,
  );
/** Whether the reader does not mark them so, if there is anybody. */
const isNot =
  (is: (bits: number) => boolean): Hides =>
  (facts, spot) =>
    spot.goer !== undefined && !is(marks(facts, spot));

type Rules = Record<string, readonly [anchor: string, hides: Hides]>;

/** What hides a record from answers of any kind, where its spot has what is looked at. */
const everywhere = {
  'the ride has no record': ['posted', hidesNight],
  'the ride is not posted': ['posted', hidesNight],
  'its metro is unknown': ['posted', hidesNight],
  'the night has no record': ['absent-references', hidesNight],
  'the metro has no record': ['unknown-metro', ({ metros }, { metro }) => metro !== undefined && !metros[metro]],
  'the rider has no record': [
    'going-count',
    (facts, { reader, goer }) => [reader, goer].some((rider) => rider !== undefined && !facts.riderExists(rider)),
  ],
  'the rider does not go': [
    'going',
    (facts, spot) => spot.goer !== undefined && spot.night !== undefined && !goesThere(facts, spot),
  ],
  'the rider goes to no night': ['going', (_, { goer, night }) => goer !== undefined && night === undefined],
  'no night names the district': ['neighbourhood', (_, { district, night }) => !!district && night === undefined],
  'no key has this id': [
    'developer-keys',
    ({ keyHashes }, { developerKey }) => developerKey !== undefined && !keyHashes.has(developerKey),
  ],
  'not readable yet': ['readable', (_facts, _spot, { isReadable }) => isReadable === false],
} as const satisfies Rules;

/** What may hide a record: the words, the rule's anchor in docs/rules.md, and whether it does, by the functions that decide it. */
export const hidingRules = {
  ...everywhere,
  'the district has no record': ['neighbourhood', lacksDistrict],
  'a secret meeting without its neighbourhood': [
    'secret-neighbourhood',
    (facts, spot) => [meetingOf(facts, spot)].some((meeting) => meeting && !views.showsNeighbourhood(meeting)),
  ],
  'a secret meeting': ['where', (facts, spot) => views.publishedMeeting(facts, meetingOf(facts, spot)).withheld],
  'no neighbourhood with a slug': [
    'where',
    (facts, spot, _, why) => {
      const meeting = meetingOf(facts, spot);
      const hiding = views.whereHiding(views.publishedMeeting(facts, meeting && { ...meeting, secret: false }));
      return recordOf(facts, spot) !== null && !lacksDistrict(facts, spot) && hiding === why;
    },
  ],
  'the rider neither leads it, nor goes, nor saved it': ['why', (facts, spot) => !isOwn(facts, spot)],
  'the day is over 30 days ago or over 90 days ahead': [
    'my-nights',
    ({ rides, metros }, { ride, day = 0 }, { nowMs }) => {
      const metro = ride === undefined ? undefined : rides[ride]?.metro;
      const zone = metro === undefined ? undefined : metros[metro]?.time_zone;
      return zone !== undefined && !isInWindow({ day, zone }, nowMs);
    },
  ],
  'nobody whom it would show goes': ['going', (_, { goer }) => goer === undefined],
  'not followed': ['known', isNot((bits) => (bits & follows) > 0)],
  'neither followed nor marked close': ['friends', isNot(isFriend)],
  'not flagged': ['flagged', isNot((bits) => (bits & flagged) > 0)],
  blocked: [
    'blocks',
    (facts, spot) => isBlocked(marks(facts, spot) | marks(facts, { goer: spot.reader, reader: spot.goer })),
  ],
} as const satisfies Rules;
export type Hidden = keyof typeof hidingRules;

const where: Hidden[] = ['a secret meeting', 'the district has no record', 'no neighbourhood with a slug'];
const neighbourhood: Hidden[] = ['a secret meeting without its neighbourhood', 'the district has no record'];
const myNights: Hidden[] = [
  'the rider neither leads it, nor goes, nor saved it',
  'the day is over 30 days ago or over 90 days ahead',
];
/** By kind of answer, the spots at which the record would show there (one is enough), and what may hide it beside `everywhere`. */
type Kinds = Record<string, readonly [spots: readonly Spot[], rules?: readonly Hidden[]]>;

function kindsOf(facts: Facts, topic: TopicName, keyText: string, { rider }: As): Kinds {
  const { rideIds, riderIds, attendance, relations } = facts;
  const key = fieldsOfKey(topic, keyText) as { day?: number } & Record<string, string>;
  const [ride, goer] = [rideIds.find(key.ride ?? ''), riderIds.find(key.rider ?? '')];
  // Nobody is seen by themself.
  const reader = rider === null || rider === key.rider ? null : riderIds.find(rider);
  const spotOf = (night: NightNumber): Spot => ({ ride: facts.nightRide[night]!, night, day: facts.nightDay[night]! });
  const nightsOf = (goer: RiderNumber): readonly Spot[] => {
    const all = idsIn(attendance, goer).map((night): Spot => ({ ...spotOf(night), goer }));
    const going = all.filter((spot) => goesThere(facts, spot));
    return orElse(going, [{ goer }]);
  };
  const seenBy = (reader: RiderNumber | null, nights: readonly Spot[]): Kinds => {
    if (reader === null) return {};
    const spots = nights.map((spot) => ({ ...spot, reader }));
    const nobody = 'nobody whom it would show goes';
    return {
      '/me/known': [spots, [nobody, 'not followed', 'blocked']],
      '/me/friends': [spots, [nobody, 'neither followed nor marked close', 'blocked']],
      '/me/flagged': [spots, [nobody, 'not flagged']],
    };
  };
  /** Nights in the rider's own answers: those that are theirs, and those of whom they follow, marked close or flagged; or all. */
  const own = (nights: readonly Spot[]): Kinds => {
    if (reader === null) return {};
    const mine = nights.map((spot) => ({ ...spot, reader }));
    const others = idsIn(relations, reader).filter((goer) => bitsOf(relations, reader, goer) & ~blocked);
    const going = mine.flatMap((spot) => others.map((goer): Spot => ({ ...spot, goer })));
    const theirs = mine.filter((spot) => isOwn(facts, spot));
    const seen = going.filter((spot) => goesThere(facts, spot));
    return { '/me/nights': [orElse(theirs, mine), myNights], ...seenBy(reader, orElse(seen, mine)) };
  };
  const day = key.day ?? 0;
  const spot: Spot = { ride, night: facts.nightKeys.find(`${key.ride}/${dayText(day)}`), day };
  switch (topic) {
    case 'metros':
      return { [`/metros/${keyText}/days/…`]: [[{ metro: facts.metroIds.find(keyText) }]] };
    case 'developer-keys':
      return { 'public reads with the key': [[{ developerKey: facts.keyIds.find(keyText) }]] };
    case 'districts': {
      const nights = [...(facts.nightsOfDistrict.get(keyText) ?? [])].map(spotOf);
      const spots = orElse(nights, [{}]).map((spot) => ({ ...spot, district: keyText }));
      return { 'neighbourhood of a night': [spots, neighbourhood], [`?where=${keyText}`]: [spots, where] };
    }
    case 'rides': {
      const nights = orElse([...(facts.rides[ride]?.nights.values() ?? [])].map(spotOf), [{ ride, night: noNight }]);
      return { [`/rides/${keyText}`]: [[{ ride }]], 'days of its metro': [nights], ...own(nights) };
    }
    case 'nights': {
      const ofAll: Kinds = { [`/rides/${key.ride}`]: [[spot]], [`day ${dayText(day)} of its metro`]: [[spot]] };
      return { ...ofAll, 'the same with ?where=': [[spot], where], ...own([spot]) };
    }
    case 'riders': {
      const nights = nightsOf(goer);
      return { 'sign-in and /me': [[{ reader: goer }]], going_count: [nights], ...seenBy(reader, nights) };
    }
    case 'attendance': {
      const [going, mine] = [[{ ...spot, goer }], [{ ...spot, reader: goer }]];
      return { going_count: [going], '/me/nights of the rider': [mine, myNights], ...seenBy(reader, going) };
    }
    case 'relations':
      return seenBy(goer, nightsOf(riderIds.find(key.other!)));
  }
}

const orElse = <T>(some: readonly T[], others: readonly T[]): readonly T[] => (some.length > 0 ? some : others);

/** What hides that which a key names from each kind of answer; nothing: it shows. */
export const whyHidden = (facts: Facts, topic: TopicName, key: string, as: As) =>
  Object.entries(kindsOf(facts, topic, key, as)).map(([answer, [spots, rules = []]]) => {
    const all = [...(Object.keys(everywhere) as Hidden[]), ...rules];
    const hiding = (spot: Spot) => all.filter((why) => hidingRules[why][1](facts, spot, as, why));
    const each = [...new Map(spots.map(hiding).map((these) => [these.join(), these])).values()];
    // A spot that all of another's reasons hide, and more, adds none: these reasons have nothing to do with the record.
    const isLeast = (these: Hidden[]) =>
      !each.some((those) => those.length < these.length && those.every((why) => these.includes(why)));
    return { answer, hidden: [...new Set(each.filter(isLeast).flat())] };
  });
