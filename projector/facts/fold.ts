import { fieldsOfKey } from '../../schemas/events/record-keys.ts';
import type {
  AnyRecord,
  Attendance,
  DeveloperKey,
  District,
  Metro,
  Night,
  Relation,
  Ride,
  Rider,
  TopicName,
} from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { dayKey, liveKeyKey, metroKey, nightKey, rideKey, riderKey } from '../../schemas/views/view-keys.ts';
import { dayOf, Marks, readerDay, readerOf } from '../writing/marks.ts';
import {
  answerBits,
  blocked,
  close,
  confirmed,
  Facts,
  flagged,
  follows,
  going,
  link,
  relationBits,
  unlink,
} from './facts.ts';

/** Who has more readers than this is fanned out to in slices, so that other changes keep flowing. */
const fanOutInlineMax = 64;
/** Bits of a relation by which one reads about the other. */
const reads = follows | close | flagged;

/**
 * Folds good records into facts (docs/rules.md#law, #last-record-wins), and marks the views that each touches. Marking
 * too much costs a write of the same bytes; marking too little breaks the law: every rule (docs/rules.md#calendar) that
 * lets one fact show in a view has its mark here.
 */
export class Fold {
  readonly facts: Facts;
  readonly marks: Marks;
  /** Off while a log is folded from its start: everything is compared, and written, afterwards. */
  marking = true;
  readonly #fanOutInlineMax: number;

  constructor(options: { fanOutInlineMax?: number } = {}) {
    this.facts = new Facts();
    this.marks = new Marks();
    this.#fanOutInlineMax = options.fanOutInlineMax ?? fanOutInlineMax;
  }

  /** Applies one record that `badRecord` let pass; `value` null is a tombstone. */
  apply(topic: TopicName, key: string, value: AnyRecord | null): void {
    this.#appliers[topic](key, value as never);
  }

  readonly #appliers: Record<TopicName, (key: string, value: never) => void> = {
    metros: (key, value) => this.#metro(key, value),
    districts: (key, value) => this.#district(key, value),
    riders: (key, value) => this.#rider(key, value),
    rides: (key, value) => this.#ride(key, value),
    nights: (key, value) => this.#night(key, value),
    attendance: (key, value) => this.#attendance(key, value),
    relations: (key, value) => this.#relation(key, value),
    'developer-keys': (key, value) => this.#developerKey(key, value),
  };

  #metro(slug: string, metro: Metro | null): void {
    const before = this.facts.metros.get(slug);
    if (metro) this.facts.metros.set(slug, metro);
    else this.facts.metros.delete(slug);
    if (before?.time_zone === metro?.time_zone) return;
    this.#mark(metroKey(slug));
    for (const ride of this.facts.ridesOfMetro.get(slug) ?? []) this.#markRideAndNights(ride);
  }

  #district(slug: string, district: District | null): void {
    if (district) this.facts.districts.set(slug, district);
    else this.facts.districts.delete(slug);
    for (const night of this.facts.nightsOfDistrict.get(slug) ?? []) this.#markNight(night);
  }

  #ride(id: string, value: Ride | null): void {
    const number = this.facts.rideNumber(id);
    const fact = this.facts.rides[number]!;
    const before = fact.record;
    this.#markRideAndNights(number);
    if (before?.metro !== value?.metro) {
      if (before) this.#leaveMetro(number, before.metro);
      if (value) this.#joinMetro(number, value.metro);
    }
    this.#leaders(number, before?.leaders ?? [], value?.leaders ?? []);
    fact.record = value;
    // Again, for the days of the metro it is in now.
    this.#markRideAndNights(number);
  }

  #joinMetro(ride: number, metro: string): void {
    link(this.facts.ridesOfMetro, metro, ride);
    for (const [day, night] of this.facts.rides[ride]!.nights) {
      if (this.facts.nightRecords[night]) link(this.facts.nightsOfDay, `${metro}/${day}`, night);
    }
  }

  #leaveMetro(ride: number, metro: string): void {
    unlink(this.facts.ridesOfMetro, metro, ride);
    for (const [day, night] of this.facts.rides[ride]!.nights) unlink(this.facts.nightsOfDay, `${metro}/${day}`, night);
  }

  #leaders(ride: number, before: readonly string[], after: readonly string[]): void {
    const gone = new Set(before);
    const came = new Set(after);
    for (const id of after) gone.delete(id);
    for (const id of before) came.delete(id);
    for (const id of gone) {
      const rider = this.facts.riderIds.add(id);
      unlink(this.facts.led, rider, ride);
      this.#markLed(rider, ride);
    }
    for (const id of came) {
      const rider = this.facts.riderIds.add(id);
      link(this.facts.led, rider, ride);
      this.#markLed(rider, ride);
    }
  }

  #night(key: string, value: Night | null): void {
    const { ride: id, day } = value ?? fieldsOfKey('nights', key);
    const ride = this.facts.rideNumber(id);
    const number = this.facts.nightNumber(ride, day);
    const before = this.facts.nightRecords[number]!;
    const { record } = this.facts.rides[ride]!;
    if (before?.meeting?.district) unlink(this.facts.nightsOfDistrict, before.meeting.district, number);
    if (value?.meeting?.district) link(this.facts.nightsOfDistrict, value.meeting.district, number);
    if (record) {
      if (value) link(this.facts.nightsOfDay, `${record.metro}/${day}`, number);
      else unlink(this.facts.nightsOfDay, `${record.metro}/${day}`, number);
    }
    this.facts.nightRecords[number] = value;
    this.#markNight(number);
    if (!before !== !value) {
      for (const leader of record?.leaders ?? []) this.#markOwn(this.facts.riderIds.add(leader), day);
    }
  }

  // docs/rules.md#erased-riders, #going-count
  #rider(id: string, value: Rider | null): void {
    const { facts } = this;
    const number = facts.riderIds.add(id);
    const existed = facts.riderExists(number);
    facts.riders[number] = value && { handle: value.handle, name: value.name };
    this.#mark(riderKey(id));
    if (existed === (value !== null)) return;
    for (let i = 0; i < facts.attendance.length(number); i++) {
      const night = facts.attendance.id(number, i);
      if ((facts.attendance.bits(number, i) & (going | confirmed)) === 0) continue;
      facts.nightGoing[night]! += value ? 1 : -1;
      this.#markNight(night);
    }
    if (!this.marking) return;
    // Who reads about them, and all they read themselves.
    for (const day of this.#goingDays(number)) this.#fanOut(number, day);
    this.markReader(number);
  }

  /** Marks every day of a reader's own layer. */
  markReader(reader: number): void {
    for (const day of this.ownDays(reader)) this.#markOwn(reader, day);
    for (const day of this.circleDays(reader)) this.markCircle(reader, day);
  }

  /** Days on which anybody a reader is related to is going. */
  circleDays(reader: number): Set<number> {
    const { relations } = this.facts;
    const days = new Set<number>();
    for (let i = 0; i < relations.length(reader); i++) {
      for (const day of this.#goingDays(relations.id(reader, i))) days.add(day);
    }
    return days;
  }

  /** Days on which a rider has nights of their own: answered, saved or led. */
  ownDays(rider: number): Set<number> {
    const { facts } = this;
    const days = new Set<number>();
    for (let i = 0; i < facts.attendance.length(rider); i++) days.add(facts.nightDay[facts.attendance.id(rider, i)]!);
    for (const ride of facts.led.get(rider) ?? []) for (const day of facts.rides[ride]!.nights.keys()) days.add(day);
    return days;
  }

  #goingDays(rider: number): Set<number> {
    const { attendance, nightDay } = this.facts;
    const days = new Set<number>();
    for (let i = 0; i < attendance.length(rider); i++) {
      if (attendance.bits(rider, i) & (going | confirmed)) days.add(nightDay[attendance.id(rider, i)]!);
    }
    return days;
  }

  /** Days of a rider's of which not all readers are told yet. */
  *#fanOutDays(rider: number): Generator<number> {
    for (const mark of this.marks.fanOuts) if (readerOf(mark) === rider) yield dayOf(mark);
    for (const mark of this.marks.fanningOut.keys()) if (readerOf(mark) === rider) yield dayOf(mark);
  }

  #attendance(key: string, value: Attendance | null): void {
    const { facts } = this;
    const { ride, day, rider } = value ?? fieldsOfKey('attendance', key);
    const night = facts.nightNumber(facts.rideNumber(ride), day);
    this.answer(facts.riderIds.add(rider), night, value ? answerBits(value.response, value.saved) : 0);
  }

  /** Applies a rider's answer to a night, by their numbers: bits going, confirmed, saved; 0 where there is none. */
  answer(rider: number, night: number, after: number): void {
    const { facts } = this;
    const before = facts.attendance.set(rider, night, after);
    if (before === after) return;
    const day = facts.nightDay[night]!;
    this.#markOwn(rider, day);
    const change = (after & (going | confirmed) ? 1 : 0) - (before & (going | confirmed) ? 1 : 0);
    if (change === 0 || !facts.riderExists(rider)) return;
    facts.nightGoing[night]! += change;
    this.#markNight(night);
    this.#fanOut(rider, day);
  }

  #relation(key: string, value: Relation | null): void {
    const { riderIds } = this.facts;
    const { rider, other } = value ?? fieldsOfKey('relations', key);
    this.relate(riderIds.add(rider), riderIds.add(other), value ? relationBits(value) : 0);
  }

  /** Applies what a rider marked another as, by their numbers: bits follows, close, flagged, blocked; 0 where nothing. */
  relate(reader: number, other: number, after: number): void {
    const { facts } = this;
    const before = facts.relations.set(reader, other, after);
    if (before === after) return;
    facts.readers.set(other, reader, after & reads);
    if (!this.marking) return;
    for (const day of this.#goingDays(other)) this.markCircle(reader, day);
    // Whoever unfollows is passed over by what is still to be told of the other: they must not keep the old word.
    for (const day of this.#fanOutDays(other)) this.markCircle(reader, day);
    // A block hides both ways.
    if ((before ^ after) & blocked && facts.relations.get(other, reader) & (follows | close)) {
      for (const day of this.#goingDays(reader)) this.markCircle(other, day);
    }
  }

  #developerKey(id: string, value: DeveloperKey | null): void {
    const { keyHashes, hashUses } = this.facts;
    const before = keyHashes.get(id);
    const after = value ? Buffer.from(value.key_hash).toString('hex') : undefined;
    if (before === after) return;
    if (before !== undefined) {
      const uses = hashUses.get(before)! - 1;
      if (uses > 0) hashUses.set(before, uses);
      else hashUses.delete(before);
      keyHashes.delete(id);
      this.#mark(liveKeyKey(before));
    }
    if (after !== undefined) {
      hashUses.set(after, (hashUses.get(after) ?? 0) + 1);
      keyHashes.set(id, after);
      this.#mark(liveKeyKey(after));
    }
  }

  #mark(key: string): void {
    if (this.marking) this.marks.views.add(key);
  }

  #markNight(night: number): void {
    if (!this.marking) return;
    const { id, record } = this.facts.rides[this.facts.nightRide[night]!]!;
    const day = dayText(this.facts.nightDay[night]!);
    this.marks.views.add(nightKey(id, day));
    this.marks.views.add(rideKey(id));
    if (record) this.marks.views.add(dayKey(record.metro, day));
  }

  #markRideAndNights(ride: number): void {
    if (!this.marking) return;
    const fact = this.facts.rides[ride]!;
    this.marks.views.add(rideKey(fact.id));
    for (const night of fact.nights.values()) if (this.facts.nightRecords[night]) this.#markNight(night);
  }

  #markLed(rider: number, ride: number): void {
    if (!this.marking) return;
    for (const day of this.facts.rides[ride]!.nights.keys()) this.#markOwn(rider, day);
  }

  #markOwn(rider: number, day: number): void {
    if (this.marking) this.marks.own.add(readerDay(rider, day));
  }

  /** Marks what a reader sees of others on a day: friends, flagged riders, or both, by the bits of a relation. */
  markCircle(reader: number, day: number, bits = reads): void {
    if (!this.marking) return;
    if (bits & (follows | close)) this.marks.friends.add(readerDay(reader, day));
    if (bits & flagged) this.marks.flagged.add(readerDay(reader, day));
  }

  /** Marks the circle of everyone who reads about a rider, at once or slice by slice. */
  #fanOut(rider: number, day: number): void {
    if (!this.marking) return;
    const { readers } = this.facts;
    const length = readers.length(rider);
    if (length > this.#fanOutInlineMax) {
      this.marks.fanOuts.add(readerDay(rider, day));
      return;
    }
    for (let i = 0; i < length; i++) this.markCircle(readers.id(rider, i), day, readers.bits(rider, i));
  }
}
