import { weekOf } from '../../schemas/views/days.ts';
import {
  encodeGoing,
  encodeOwn,
  type FieldKind,
  fieldFirstDay,
  fieldName,
  type GoingRider,
  type OwnNight,
  parseFieldName,
  rideOfWeek,
} from '../../schemas/views/reader-fields.ts';
import { compareText } from '../../schemas/views/text.ts';
import { close, type Facts, flagged, follows, goes, isBlocked, isFriend, led } from '../facts/facts.ts';
import type { NightNumber, RiderNumber } from '../facts/numbers.ts';
import type { FieldWrite } from '../ports/view-writer.ts';

/**
 * A reader's own layer: one field for each day of friends going, and for each week of own nights and of flagged riders
 * going. One pass over the reader's relations renders any number of fields.
 */

/** Bits for the parts of a reader's day: own nights, friends going, flagged riders going. */
export type ReaderParts = number;
export const ownPart = 1;
export const friendsPart = 2;
export const flaggedPart = 4;

/** Which parts to render, by the first days of their fields. */
type ReaderDays = ReadonlyMap<number, ReaderParts>;

const kinds: Record<ReaderParts, FieldKind> = { [ownPart]: 'o', [friendsPart]: 'f', [flaggedPart]: 'x' };
const parts: Record<FieldKind, ReaderParts> = { o: ownPart, f: friendsPart, x: flaggedPart };
const fieldOf = (part: ReaderParts, first: number): string => fieldName(kinds[part]!, first);

export const firstDayOf = (part: ReaderParts, day: number): number => fieldFirstDay(kinds[part]!, day);

/** The names of the fields that show these parts of a day. */
export const fieldsShowing = (day: number, wanted: ReaderParts): string[] =>
  Object.values(parts)
    .filter((part) => wanted & part)
    .map((part) => fieldOf(part, firstDayOf(part, day)));

/** The part and first day that a field of a rider's hash shows; null for what is no field of ours. */
export function partOfField(field: string): { part: ReaderParts; day: number } | null {
  const parsed = parseFieldName(field);
  return parsed && { part: parts[parsed.kind], day: parsed.first };
}

/** Every field of a reader that is not empty. None if the rider does not exist. */
export function renderReader(facts: Facts, reader: RiderNumber): FieldWrite[] {
  if (!facts.riderExists(reader)) return [];
  const fields: FieldWrite[] = [];
  for (const [week, nights] of ownNights(facts, reader, null))
    fields.push({ field: fieldOf(ownPart, week), value: own(nights) });
  const { friends, flags } = goingRelations(facts, reader, null);
  for (const [day, riders] of friends) fields.push({ field: fieldOf(friendsPart, day), value: encodeGoing(riders) });
  for (const [week, riders] of flags) fields.push({ field: fieldOf(flaggedPart, week), value: encodeGoing(riders) });
  return fields;
}

/** The given fields of a reader. Null for a field that should not exist. */
export function renderReaderDays(facts: Facts, reader: RiderNumber, days: ReaderDays): FieldWrite[] {
  const exists = facts.riderExists(reader);
  let asked: ReaderParts = 0;
  const shown = new Set<number>();
  for (const [first, wanted] of days) {
    asked |= wanted;
    const end = wanted & (ownPart | flaggedPart) ? first + 7 : first + 1;
    for (let day = first; day < end; day++) shown.add(day);
  }
  const nights = exists && asked & ownPart ? ownNights(facts, reader, shown) : null;
  const others = exists && asked & (friendsPart | flaggedPart) ? goingRelations(facts, reader, shown) : null;
  const fields: FieldWrite[] = [];
  for (const [day, wanted] of days) {
    if (wanted & ownPart) fields.push({ field: fieldOf(ownPart, day), value: textOf(nights?.get(day), own) });
    if (wanted & friendsPart)
      fields.push({ field: fieldOf(friendsPart, day), value: textOf(others?.friends.get(day), encodeGoing) });
    if (wanted & flaggedPart)
      fields.push({ field: fieldOf(flaggedPart, day), value: textOf(others?.flags.get(day), encodeGoing) });
  }
  return fields;
}

const textOf = <T>(list: T | undefined, text: (list: T) => string): string | null =>
  list === undefined ? null : text(list);

const byNight = (a: OwnNight, b: OwnNight): number => a.day - b.day || compareText(a.ride, b.ride);
const own = (nights: ReadonlyMap<NightNumber, OwnNight>): string => encodeOwn([...nights.values()].sort(byNight));

/**
 * A rider's own nights, by week: nights that they responded to or saved, and nights of rides that they lead
 * (docs/rules.md#why). Of some days or of all.
 */
export function ownNights(
  facts: Facts,
  rider: RiderNumber,
  days: ReadonlySet<number> | null,
): Map<number, Map<NightNumber, OwnNight>> {
  const found = new Map<number, Map<NightNumber, OwnNight>>();
  const nightOf = (day: number, night: NightNumber): OwnNight => {
    const week = weekOf(day);
    const ofWeek = found.get(week) ?? new Map<NightNumber, OwnNight>();
    if (ofWeek.size === 0) found.set(week, ofWeek);
    const known = ofWeek.get(night) ?? { day, ride: rideOf(facts, night), bits: 0 };
    ofWeek.set(night, known);
    return known;
  };
  eachRsvp(facts, rider, days, (day, night, bits) => {
    nightOf(day, night).bits = bits;
  });
  for (const ride of facts.led.get(rider) ?? []) {
    for (const [day, night] of facts.rides[ride]!.nights)
      if ((days === null || days.has(day)) && facts.nightRecords[night]) nightOf(day, night).bits |= led;
  }
  return found;
}

interface RidersGoing {
  /**
   * By day, in the order of ride and rider: riders whom the reader follows or marked close, with no block in either
   * direction (docs/rules.md#friends, #blocks).
   */
  friends: ReadonlyMap<number, GoingRider[]>;
  /**
   * By week, in the order of day, ride and rider: riders whom the reader flagged. A flag shows despite any block
   * (docs/rules.md#flagged, #blocks).
   */
  flags: ReadonlyMap<number, GoingRider[]>;
}

function goingRelations(facts: Facts, reader: RiderNumber, days: ReadonlySet<number> | null): RidersGoing {
  const { relations } = facts;
  const friends = new Map<number, GoingRider[]>();
  const flags = new Map<number, GoingRider[]>();
  for (let i = 0; i < relations.length(reader); i++) {
    const other = relations.id(reader, i);
    const bits = relations.bits(reader, i);
    const isFlagged = (bits & flagged) > 0;
    const mayBeFriend = isFriend(bits) && !isBlocked(bits);
    if ((!isFlagged && !mayBeFriend) || !facts.riderExists(other)) continue;
    // Looked up once the other rider turns out to be going: most relations never come to that.
    let isShown: boolean | null = mayBeFriend ? null : false;
    let rider = '';
    eachRsvp(facts, other, days, (day, night, rsvp) => {
      if (!goes(rsvp)) return;
      isShown ??= !isBlocked(relations.get(other, reader));
      if (!isShown && !isFlagged) return;
      rider ||= facts.riderIds.text(other);
      const ride = rideOf(facts, night);
      const shown = bits & (follows | close | flagged);
      if (isShown) add(friends, day, { ride, rider, bits: shown });
      if (isFlagged) add(flags, weekOf(day), { ride: rideOfWeek(day, ride), rider, bits: shown });
    });
  }
  for (const riders of friends.values()) riders.sort(byRideAndRider);
  for (const riders of flags.values()) riders.sort(byRideAndRider);
  return { friends, flags };
}

const byRideAndRider = (a: GoingRider, b: GoingRider): number =>
  compareText(a.ride, b.ride) || compareText(a.rider, b.rider);

function add(byFirstDay: Map<number, GoingRider[]>, first: number, entry: GoingRider): void {
  const list = byFirstDay.get(first);
  if (list) list.push(entry);
  else byFirstDay.set(first, [entry]);
}

const rideOf = (facts: Facts, night: NightNumber): string => facts.rides[facts.nightRide[night]!]!.id;

/** A rider's RSVPs and saved nights, of some days or of all, in the order of days. */
function eachRsvp(
  facts: Facts,
  rider: RiderNumber,
  days: ReadonlySet<number> | null,
  take: (day: number, night: NightNumber, bits: number) => void,
): void {
  const { attendance, nightDay } = facts;
  const length = attendance.length(rider);
  if (length === 0) return;
  if (days === null) {
    for (let i = 0; i < length; i++) {
      const night = attendance.id(rider, i);
      take(nightDay[night]!, night, attendance.bits(rider, i));
    }
    return;
  }
  for (const day of days) {
    for (let i = attendance.firstIndex(rider, (night) => nightDay[night]! >= day); i < length; i++) {
      const night = attendance.id(rider, i);
      if (nightDay[night] !== day) break;
      take(day, night, attendance.bits(rider, i));
    }
  }
}
