import { blocked, close, type Facts, flagged, follows, goes } from '../facts/facts.ts';
import { type MetroNumber, type NightNumber, type RideNumber, type RiderNumber, subjectDay } from '../facts/numbers.ts';
import type { Touched } from '../facts/touched.ts';
import { flaggedPart, friendsPart, ownPart, type ReaderParts } from '../views/reader.ts';
import type { FanOuts } from './fan-outs.ts';
import type { MarkSink } from './marks.ts';

/** A rider with more watchers than this is written in slices, so that other changes are not held up. */
const inlineMax = 64;

/**
 * Marks the views that show a changed fact: the rules of projector/views, read from the fact's side. Marking too much costs
 * writes of the same bytes; marking too little breaks the law. A change of a rider with many watchers is told to them slice
 * by slice.
 */
export class Marking implements Touched {
  readonly #facts: Facts;
  readonly #marks: MarkSink;
  readonly #fanOuts: FanOuts | null;
  readonly #inlineMax: number;

  /** `fanOuts`: where riders with many watchers are left to; null: all watchers are marked at once. */
  constructor(facts: Facts, marks: MarkSink, fanOuts: FanOuts | null, watchersInlineMax = inlineMax) {
    this.#facts = facts;
    this.#marks = marks;
    this.#fanOuts = fanOuts;
    this.#inlineMax = watchersInlineMax;
  }

  /** A metro shows in all of its rides. */
  metro(metro: MetroNumber): void {
    this.#marks.values.metro.add(metro);
    for (const ride of this.#facts.ridesOfMetro.get(metro) ?? []) this.ride(ride);
  }

  /** A ride shows in all of its nights. */
  ride(ride: RideNumber): void {
    const { rides, nightRecords } = this.#facts;
    this.#marks.values.ride.add(ride);
    for (const night of rides[ride]!.nights.values()) if (nightRecords[night]) this.night(night);
  }

  night(night: NightNumber): void {
    const { rides, nightRide, nightDay } = this.#facts;
    const { values } = this.#marks;
    const ride = nightRide[night]!;
    const { metro } = rides[ride]!;
    values.night.add(night);
    values.ride.add(ride);
    if (metro >= 0) values.day.add(subjectDay(metro, nightDay[night]!));
  }

  card(rider: RiderNumber): void {
    this.#marks.values.rider.add(rider);
  }

  keyHash(hash: number): void {
    this.#marks.values.key.add(hash);
  }

  own(rider: RiderNumber, day: number): void {
    this.#marks.readerDay(rider, day, ownPart);
  }

  /** All watchers of the rider see it, and the rider's own layer appears or disappears. */
  existence(rider: RiderNumber): void {
    const { relations } = this.#facts;
    for (const day of goingDays(this.#facts, rider)) this.going(rider, day);
    for (const day of ownDays(this.#facts, rider)) this.own(rider, day);
    for (let i = 0; i < relations.length(rider); i++) {
      const bits = relations.bits(rider, i);
      for (const day of goingDays(this.#facts, relations.id(rider, i))) this.related(rider, day, bits);
    }
  }

  /** Marks all watchers of a rider, at once or slice by slice. */
  going(rider: RiderNumber, day: number): void {
    const { watchers } = this.#facts;
    const length = watchers.length(rider);
    if (this.#fanOuts && length > this.#inlineMax) this.#fanOuts.add(rider, day);
    else for (let i = 0; i < length; i++) this.related(watchers.id(rider, i), day, watchers.bits(rider, i));
  }

  /** A block hides both riders from each other. */
  relation(reader: RiderNumber, other: RiderNumber, before: number, after: number): void {
    const facts = this.#facts;
    for (const day of goingDays(facts, other)) this.related(reader, day, before | after);
    if ((before ^ after) & blocked && facts.relations.get(other, reader) & (follows | close)) {
      for (const day of goingDays(facts, reader)) this.#marks.readerDay(other, day, friendsPart);
    }
    // A reader who unfollows is no longer a watcher, so a pending fan-out of the other rider skips them. Their old view
    // must go now.
    for (const day of this.#fanOuts?.days(other) ?? []) this.related(reader, day, before | after);
  }

  /** Marks what a watcher sees of a rider on a day, by the bits of their relation. */
  related(watcher: RiderNumber, day: number, bits: number): void {
    const parts: ReaderParts = (bits & (follows | close) ? friendsPart : 0) | (bits & flagged ? flaggedPart : 0);
    this.#marks.readerDay(watcher, day, parts);
  }
}

function goingDays({ attendance, nightDay }: Facts, rider: RiderNumber): Set<number> {
  const days = new Set<number>();
  for (let i = 0; i < attendance.length(rider); i++) {
    if (goes(attendance.bits(rider, i))) days.add(nightDay[attendance.id(rider, i)]!);
  }
  return days;
}

/** Days on which a rider has nights of their own: RSVP, saved or led. */
function ownDays({ attendance, led, nightDay, rides }: Facts, rider: RiderNumber): Set<number> {
  const days = new Set<number>();
  for (let i = 0; i < attendance.length(rider); i++) days.add(nightDay[attendance.id(rider, i)]!);
  for (const ride of led.get(rider) ?? []) for (const day of rides[ride]!.nights.keys()) days.add(day);
  return days;
}
