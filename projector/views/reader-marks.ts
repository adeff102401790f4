import { blocked, close, confirmed, type Facts, flagged, follows, going } from '../facts/facts.ts';
import { flaggedPart, friendsPart, ownPart, type ReaderParts } from './reader.ts';

/**
 * Which parts of which readers' layers show a changed fact: the rules of reader.ts, read from the fact's side. Marking too
 * much costs writes of the same bytes; marking too little breaks the law.
 */

export type MarkReader = (reader: number, day: number, parts: ReaderParts) => void;

/** Where a watcher sees a rider who goes: as a friend, as a flagged rider, or both, by the bits of their relation. */
export function partsShowing(bits: number): ReaderParts {
  return (bits & (follows | close) ? friendsPart : 0) | (bits & flagged ? flaggedPart : 0);
}

/** A rider's own layer appears or disappears. What their watchers see of them is up to the caller. */
export function markOwnLayer(facts: Facts, rider: number, mark: MarkReader): void {
  for (const day of ownDays(facts, rider)) mark(rider, day, ownPart);
  const { relations } = facts;
  for (let i = 0; i < relations.length(rider); i++) {
    const parts = partsShowing(relations.bits(rider, i));
    for (const day of goingDays(facts, relations.id(rider, i))) mark(rider, day, parts);
  }
}

/** A reader's relation to another rider changed. A block hides both riders from each other. */
export function markRelation(
  facts: Facts,
  [reader, other]: readonly [number, number],
  [before, after]: readonly [number, number],
  mark: MarkReader,
): void {
  for (const day of goingDays(facts, other)) mark(reader, day, partsShowing(before | after));
  if ((before ^ after) & blocked && facts.relations.get(other, reader) & (follows | close)) {
    for (const day of goingDays(facts, reader)) mark(other, day, friendsPart);
  }
}

export function goingDays({ attendance, nightDay }: Facts, rider: number): Set<number> {
  const days = new Set<number>();
  for (let i = 0; i < attendance.length(rider); i++) {
    if (attendance.bits(rider, i) & (going | confirmed)) days.add(nightDay[attendance.id(rider, i)]!);
  }
  return days;
}

/** Days on which a rider has nights of their own: RSVP, saved or led. */
function ownDays({ attendance, led, nightDay, rides }: Facts, rider: number): Set<number> {
  const days = new Set<number>();
  for (let i = 0; i < attendance.length(rider); i++) days.add(nightDay[attendance.id(rider, i)]!);
  for (const ride of led.get(rider) ?? []) for (const day of rides[ride]!.nights.keys()) days.add(day);
  return days;
}
