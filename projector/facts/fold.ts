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
import { close, confirmed, Facts, flagged, follows, going, link, relationBits, rsvpBits, unlink } from './facts.ts';
import { relationEdge, rsvpEdge } from './facts-sum.ts';
import { subjectDay } from './subject-day.ts';
import { ignoreChanges, type Touched } from './touched.ts';

/** Bits of a relation by which one rider sees what the other does. */
const watches = follows | close | flagged;

/** Folds good records into facts (docs/rules.md#law, #last-record-wins), and reports each fact that changed. */
export class Fold {
  readonly facts = new Facts();
  /**
   * Who is told about changes. Nobody while a log is folded from its start, because every view is compared afterwards.
   */
  touched: Touched = ignoreChanges;

  /** Applies a record that `badRecord` accepts. `value` null is a tombstone. */
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
    const number = this.facts.metroIds.add(slug);
    const before = this.facts.metros[number];
    this.facts.metros[number] = metro;
    this.facts.sum.record('metros', slug, before ?? null, metro);
    if (before?.time_zone !== metro?.time_zone) this.touched.metro(number);
  }

  #district(slug: string, district: District | null): void {
    this.facts.sum.record('districts', slug, this.facts.districts.get(slug) ?? null, district);
    if (district) this.facts.districts.set(slug, district);
    else this.facts.districts.delete(slug);
    for (const night of this.facts.nightsOfDistrict.get(slug) ?? []) this.touched.night(night);
  }

  #ride(id: string, value: Ride | null): void {
    const number = this.facts.rideNumber(id);
    const fact = this.facts.rides[number]!;
    const before = fact.record;
    const metro = value ? this.facts.metroIds.add(value.metro) : -1;
    this.touched.ride(number);
    if (fact.metro !== metro) {
      if (fact.metro >= 0) this.#leaveMetro(number, fact.metro);
      if (metro >= 0) this.#joinMetro(number, metro);
    }
    this.#leaders(number, before?.leaders ?? [], value?.leaders ?? []);
    fact.record = value;
    this.facts.sum.record('rides', id, before, value);
    if (fact.metro === metro) return;
    fact.metro = metro;
    // Again, for the days of the metro that it is in now.
    this.touched.ride(number);
  }

  #joinMetro(ride: number, metro: number): void {
    link(this.facts.ridesOfMetro, metro, ride);
    for (const [day, night] of this.facts.rides[ride]!.nights) {
      if (this.facts.nightRecords[night]) link(this.facts.nightsOfDay, subjectDay(metro, day), night);
    }
  }

  #leaveMetro(ride: number, metro: number): void {
    unlink(this.facts.ridesOfMetro, metro, ride);
    for (const [day, night] of this.facts.rides[ride]!.nights)
      unlink(this.facts.nightsOfDay, subjectDay(metro, day), night);
  }

  #leaders(ride: number, before: readonly string[], after: readonly string[]): void {
    const gone = new Set(before);
    const came = new Set(after);
    for (const id of after) gone.delete(id);
    for (const id of before) came.delete(id);
    for (const id of gone) {
      const rider = this.facts.riderIds.add(id);
      unlink(this.facts.led, rider, ride);
      this.#touchLed(rider, ride);
    }
    for (const id of came) {
      const rider = this.facts.riderIds.add(id);
      link(this.facts.led, rider, ride);
      this.#touchLed(rider, ride);
    }
  }

  #night(key: string, value: Night | null): void {
    const { ride: id, day } = value ?? fieldsOfKey('nights', key);
    const ride = this.facts.rideNumber(id);
    const number = this.facts.nightNumber(ride, day);
    const before = this.facts.nightRecords[number]!;
    const { record, metro } = this.facts.rides[ride]!;
    if (before?.meeting?.district) unlink(this.facts.nightsOfDistrict, before.meeting.district, number);
    if (value?.meeting?.district) link(this.facts.nightsOfDistrict, value.meeting.district, number);
    if (record) {
      if (value) link(this.facts.nightsOfDay, subjectDay(metro, day), number);
      else unlink(this.facts.nightsOfDay, subjectDay(metro, day), number);
    }
    this.facts.nightRecords[number] = value;
    this.facts.sum.record('nights', key, before, value);
    this.touched.night(number);
    if (!before !== !value) {
      for (const leader of record?.leaders ?? []) this.touched.own(this.facts.riderIds.add(leader), day);
    }
  }

  // docs/rules.md#erased-riders, #going-count
  #rider(id: string, value: Rider | null): void {
    const { facts } = this;
    const number = facts.riderIds.add(id);
    const existed = facts.riderExists(number);
    facts.sum.record('riders', id, facts.riders[number] ?? null, value);
    // Without holes: an array filled at random is many times slower.
    while (facts.riders.length < number) facts.riders.push(null);
    facts.riders[number] = value && { handle: value.handle, name: value.name };
    this.touched.card(number);
    if (existed === (value !== null)) return;
    for (let i = 0; i < facts.attendance.length(number); i++) {
      const night = facts.attendance.id(number, i);
      if ((facts.attendance.bits(number, i) & (going | confirmed)) === 0) continue;
      facts.nightGoing[night]! += value ? 1 : -1;
      this.touched.night(night);
    }
    this.touched.existence(number);
  }

  #attendance(key: string, value: Attendance | null): void {
    const { facts } = this;
    const { ride, day, rider } = value ?? fieldsOfKey('attendance', key);
    const night = facts.nightNumber(facts.rideNumber(ride), day);
    this.respond(facts.riderIds.add(rider), night, value ? rsvpBits(value.response, value.saved) : 0);
  }

  /** Applies a rider's RSVP to a night, both by number. Bits going, confirmed, saved; 0 if there is none. */
  respond(rider: number, night: number, after: number): void {
    const { facts } = this;
    const before = facts.attendance.set(rider, night, after);
    if (before === after) return;
    facts.sum.edge(rsvpEdge, facts.riderIds, rider, facts.nightKeys, night, before, after);
    const day = facts.nightDay[night]!;
    this.touched.own(rider, day);
    const change = (after & (going | confirmed) ? 1 : 0) - (before & (going | confirmed) ? 1 : 0);
    if (change === 0 || !facts.riderExists(rider)) return;
    facts.nightGoing[night]! += change;
    this.touched.night(night);
    this.touched.going(rider, day);
  }

  #relation(key: string, value: Relation | null): void {
    const { riderIds } = this.facts;
    const { rider, other } = value ?? fieldsOfKey('relations', key);
    this.relate(riderIds.add(rider), riderIds.add(other), value ? relationBits(value) : 0);
  }

  /**
   * Applies a relation of one rider to another, both by number. Bits follows, close, flagged, blocked; 0 if there is
   * none.
   */
  relate(reader: number, other: number, after: number): void {
    const { facts } = this;
    const before = facts.relations.set(reader, other, after);
    if (before === after) return;
    facts.sum.edge(relationEdge, facts.riderIds, reader, facts.riderIds, other, before, after);
    facts.watchers.set(other, reader, after & watches);
    this.touched.relation(reader, other, before, after);
  }

  #developerKey(id: string, value: DeveloperKey | null): void {
    const { hashIds, keyHashes, hashUses } = this.facts;
    const before = keyHashes.get(id);
    const after = value ? hashIds.add(Buffer.from(value.key_hash).toString('hex')) : undefined;
    if (before === after) return;
    const hashOf = (hash: number | undefined) => (hash === undefined ? null : { key_hash: hashIds.text(hash) });
    this.facts.sum.record('developer-keys', id, hashOf(before), hashOf(after));
    if (before !== undefined) {
      hashUses[before]! -= 1;
      keyHashes.delete(id);
      this.touched.keyHash(before);
    }
    if (after !== undefined) {
      hashUses[after] = (hashUses[after] ?? 0) + 1;
      keyHashes.set(id, after);
      this.touched.keyHash(after);
    }
  }

  #touchLed(rider: number, ride: number): void {
    for (const day of this.facts.rides[ride]!.nights.keys()) this.touched.own(rider, day);
  }
}
