import { blocked, close, confirmed, type Facts, flagged, follows, going, subjectDay } from '../facts/facts.ts';
import type { Touched } from '../facts/touched.ts';
import { flaggedPart, friendsPart, ownPart } from '../views/reader.ts';
import type { FanOuts } from './fan-outs.ts';
import type { Marks } from './marks.ts';

/** A rider with more watchers than this is written in slices, so that other changes are not held up. */
const inlineMax = 64;

/**
 * Marks the views that show a changed fact. Marking too much costs writes of the same bytes. Marking too little breaks
 * the law: every rule (docs/rules.md#calendar) by which a fact shows in a view has its mark here.
 */
export class Marking implements Touched {
  readonly #facts: Facts;
  readonly #marks: Marks;
  readonly #fanOuts: FanOuts | null;
  readonly #inlineMax: number;

  /** `fanOuts`: where riders with many watchers are left to; null: all watchers are marked at once. */
  constructor(facts: Facts, marks: Marks, fanOuts: FanOuts | null, watchersInlineMax = inlineMax) {
    this.#facts = facts;
    this.#marks = marks;
    this.#fanOuts = fanOuts;
    this.#inlineMax = watchersInlineMax;
  }

  metro(metro: number): void {
    this.#marks.values.metro.add(metro);
    for (const ride of this.#facts.ridesOfMetro.get(metro) ?? []) this.ride(ride);
  }

  ride(ride: number): void {
    this.#marks.values.ride.add(ride);
    for (const night of this.#facts.rides[ride]!.nights.values()) {
      if (this.#facts.nightRecords[night]) this.night(night);
    }
  }

  night(night: number): void {
    const { rides, nightRide, nightDay } = this.#facts;
    const ride = nightRide[night]!;
    const { metro } = rides[ride]!;
    this.#marks.values.night.add(night);
    this.#marks.values.ride.add(ride);
    if (metro >= 0) this.#marks.values.day.add(subjectDay(metro, nightDay[night]!));
  }

  card(rider: number): void {
    this.#marks.values.rider.add(rider);
  }

  keyHash(hash: number): void {
    this.#marks.values.key.add(hash);
  }

  own(rider: number, day: number): void {
    this.#marks.readerDay(rider, day, ownPart);
  }

  /** All watchers of the rider see it, and the rider's own layer appears or disappears. */
  existence(rider: number): void {
    for (const day of this.#goingDays(rider)) this.going(rider, day);
    for (const day of this.#ownDays(rider)) this.own(rider, day);
    const { relations } = this.#facts;
    for (let i = 0; i < relations.length(rider); i++) {
      const bits = relations.bits(rider, i);
      for (const day of this.#goingDays(relations.id(rider, i))) this.related(rider, day, bits);
    }
  }

  /** Marks all watchers of a rider, at once or slice by slice. */
  going(rider: number, day: number): void {
    const { watchers } = this.#facts;
    const length = watchers.length(rider);
    if (this.#fanOuts && length > this.#inlineMax) this.#fanOuts.add(rider, day);
    else for (let i = 0; i < length; i++) this.related(watchers.id(rider, i), day, watchers.bits(rider, i));
  }

  relation(reader: number, other: number, before: number, after: number): void {
    const seen = before | after;
    for (const day of this.#goingDays(other)) this.related(reader, day, seen);
    // A reader who unfollows is no longer a watcher, so a pending fan-out of the other rider skips them. Their old view
    // must go now.
    for (const day of this.#fanOuts?.days(other) ?? []) this.related(reader, day, seen);
    // A block hides both riders from each other.
    const { relations } = this.#facts;
    if ((before ^ after) & blocked && relations.get(other, reader) & (follows | close)) {
      for (const day of this.#goingDays(reader)) this.related(other, day, follows);
    }
  }

  /**
   * Marks what a reader sees of another rider on a day: as a friend, as a flagged rider, or both, by the bits of their
   * relation.
   */
  related(reader: number, day: number, bits: number): void {
    const friends = bits & (follows | close) ? friendsPart : 0;
    this.#marks.readerDay(reader, day, friends | (bits & flagged ? flaggedPart : 0));
  }

  #goingDays(rider: number): Set<number> {
    const { attendance, nightDay } = this.#facts;
    const days = new Set<number>();
    for (let i = 0; i < attendance.length(rider); i++) {
      if (attendance.bits(rider, i) & (going | confirmed)) days.add(nightDay[attendance.id(rider, i)]!);
    }
    return days;
  }

  /** Days on which a rider has nights of their own: RSVP, saved or led. */
  #ownDays(rider: number): Set<number> {
    const { attendance, led, nightDay, rides } = this.#facts;
    const days = new Set<number>();
    for (let i = 0; i < attendance.length(rider); i++) days.add(nightDay[attendance.id(rider, i)]!);
    for (const ride of led.get(rider) ?? []) for (const day of rides[ride]!.nights.keys()) days.add(day);
    return days;
  }
}
