import { dayText } from '../../schemas/views/days.ts';
import { compareText } from '../../schemas/views/text.ts';
import { goingText, ownText } from '../../schemas/views/view-values.ts';
import { blocked, close, confirmed, type Facts, flagged, follows, going, led } from '../facts/facts.ts';
import type { FieldWrite } from '../ports/view-writer.ts';

/**
 * A reader's own layer: one field for each part of each day. One pass over the reader's relations renders any number of
 * days.
 */

/** Bits for the parts of a reader's day: own nights, friends going, flagged riders going. */
export type ReaderParts = number;
export const ownPart = 1;
export const friendsPart = 2;
export const flaggedPart = 4;

/** Which parts of which days to render. */
export type ReaderDays = ReadonlyMap<number, ReaderParts>;

export const ownField = (day: number): string => `o${dayText(day)}`;
export const friendsField = (day: number): string => `f${dayText(day)}`;
export const flaggedField = (day: number): string => `x${dayText(day)}`;

/** Every field of a reader that is not empty. None if the rider does not exist. */
export function renderReader(facts: Facts, reader: number): FieldWrite[] {
  if (!facts.riderExists(reader)) return [];
  const fields: FieldWrite[] = [];
  for (const [day, nights] of ownNights(facts, reader, null)) fields.push({ field: ownField(day), value: own(nights) });
  const { friends, flags } = goingRelations(facts, reader, null);
  for (const [day, riders] of friends) fields.push({ field: friendsField(day), value: goingText(riders) });
  for (const [day, riders] of flags) fields.push({ field: flaggedField(day), value: goingText(riders) });
  return fields;
}

/** The given parts of a reader's days. Null for a field that should not exist. */
export function renderReaderDays(facts: Facts, reader: number, days: ReaderDays): FieldWrite[] {
  const exists = facts.riderExists(reader);
  let parts: ReaderParts = 0;
  for (const part of days.values()) parts |= part;
  const nights = exists && parts & ownPart ? ownNights(facts, reader, days) : null;
  const others = exists && parts & (friendsPart | flaggedPart) ? goingRelations(facts, reader, days) : null;
  const fields: FieldWrite[] = [];
  for (const [day, wanted] of days) {
    if (wanted & ownPart) fields.push({ field: ownField(day), value: textOf(nights?.get(day), own) });
    if (wanted & friendsPart)
      fields.push({ field: friendsField(day), value: textOf(others?.friends.get(day), goingText) });
    if (wanted & flaggedPart)
      fields.push({ field: flaggedField(day), value: textOf(others?.flags.get(day), goingText) });
  }
  return fields;
}

const textOf = <T>(list: T | undefined, text: (list: T) => string): string | null =>
  list === undefined ? null : text(list);

/** One of a rider's own nights, with the bits of RSVP, saved and led. */
interface OwnNight {
  ride: string;
  bits: number;
}

/** A rider who goes to a night, and the bits of the reader's relation to them. */
interface GoingRider {
  ride: string;
  rider: string;
  bits: number;
}

const byRide = (a: OwnNight, b: OwnNight): number => compareText(a.ride, b.ride);
const own = (nights: ReadonlyMap<number, OwnNight>): string => ownText([...nights.values()].sort(byRide));

/**
 * A rider's own nights, by day: nights that they responded to or saved, and nights of rides that they lead
 * (docs/rules.md#why).
 */
function ownNights(facts: Facts, rider: number, days: ReaderDays | null): Map<number, Map<number, OwnNight>> {
  const found = new Map<number, Map<number, OwnNight>>();
  const nightOf = (day: number, night: number): OwnNight => {
    const ofDay = found.get(day) ?? new Map<number, OwnNight>();
    if (ofDay.size === 0) found.set(day, ofDay);
    const known = ofDay.get(night) ?? { ride: rideOf(facts, night), bits: 0 };
    ofDay.set(night, known);
    return known;
  };
  const isWanted = (day: number): boolean => days === null || (days.get(day) ?? 0) !== 0;
  eachRsvp(facts, rider, days, (day, night, bits) => {
    nightOf(day, night).bits = bits;
  });
  for (const ride of facts.led.get(rider) ?? []) {
    for (const [day, night] of facts.rides[ride]!.nights) {
      if (isWanted(day) && facts.nightRecords[night]) nightOf(day, night).bits |= led;
    }
  }
  return found;
}

interface Circle {
  /**
   * By day, in the order of ride and rider: riders whom the reader follows or marked close, with no block in either
   * direction (docs/rules.md#friends, #blocks).
   */
  friends: ReadonlyMap<number, GoingRider[]>;
  /** Riders whom the reader flagged. A flag shows despite any block (docs/rules.md#flagged, #blocks). */
  flags: ReadonlyMap<number, GoingRider[]>;
}

/** Which riders of a reader's relations are going, by day. */
function goingRelations(facts: Facts, reader: number, days: ReaderDays | null): Circle {
  const { relations } = facts;
  const friends = new Map<number, GoingRider[]>();
  const flags = new Map<number, GoingRider[]>();
  for (let i = 0; i < relations.length(reader); i++) {
    const other = relations.id(reader, i);
    const bits = relations.bits(reader, i);
    const isFlagged = (bits & flagged) > 0;
    const mayBeFriend = (bits & (follows | close)) > 0 && (bits & blocked) === 0;
    if ((!isFlagged && !mayBeFriend) || !facts.riderExists(other)) continue;
    // Computed only if the other rider is going: of most relations, few days matter.
    let isFriend: boolean | null = mayBeFriend ? null : false;
    let rider = '';
    eachRsvp(facts, other, days, (day, night, rsvp) => {
      if ((rsvp & (going | confirmed)) === 0) return;
      isFriend ??= (relations.get(other, reader) & blocked) === 0;
      if (!isFriend && !isFlagged) return;
      rider ||= facts.riderIds.text(other);
      const entry = { ride: rideOf(facts, night), rider, bits: bits & (follows | close | flagged) };
      if (isFriend) add(friends, day, entry);
      if (isFlagged) add(flags, day, entry);
    });
  }
  for (const riders of friends.values()) riders.sort(byRideAndRider);
  for (const riders of flags.values()) riders.sort(byRideAndRider);
  return { friends, flags };
}

const byRideAndRider = (a: GoingRider, b: GoingRider): number =>
  compareText(a.ride, b.ride) || compareText(a.rider, b.rider);

function add(byDay: Map<number, GoingRider[]>, day: number, entry: GoingRider): void {
  const list = byDay.get(day);
  if (list) list.push(entry);
  else byDay.set(day, [entry]);
}

const rideOf = (facts: Facts, night: number): string => facts.rides[facts.nightRide[night]!]!.id;

/** A rider's RSVPs and saved nights, of some days or of all, in the order of days. */
function eachRsvp(
  facts: Facts,
  rider: number,
  days: ReaderDays | null,
  take: (day: number, night: number, bits: number) => void,
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
  for (const day of days.keys()) {
    for (let i = attendance.firstIndex(rider, (night) => nightDay[night]! >= day); i < length; i++) {
      const night = attendance.id(rider, i);
      if (nightDay[night] !== day) break;
      take(day, night, attendance.bits(rider, i));
    }
  }
}
