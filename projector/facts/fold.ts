import type { RecordKey } from '../../schemas/events/record-keys.ts';
import type {
  Attendance,
  DeveloperKey,
  District,
  Metro,
  Night,
  Relation,
  Ride,
  Rider,
  TopicName,
  TopicRecords,
} from '../../schemas/events/records.ts';
import { close, Facts, flagged, follows, goes, link, relationBits, rsvpBits, unlink } from './facts.ts';
import { relationEdge, rsvpEdge } from './facts-sum.ts';
import { type MetroNumber, noMetro, type RideNumber, subjectDay } from './numbers.ts';
import { ignoreChanges, type Touched, tellAll } from './touched.ts';

/** Bits of a relation by which one rider sees what the other does. */
const watches = follows | close | flagged;

/**
 * Values as the fold takes them. Those of RSVPs and relations lack the fields that are in their keys: there are millions,
 * so no text is made of their ids.
 */
interface FoldedValues extends Omit<TopicRecords, 'attendance' | 'relations'> {
  attendance: Omit<Attendance, 'ride' | 'day' | 'rider' | 'changed_at'>;
  relations: Omit<Relation, 'rider' | 'other' | 'changed_at'>;
}
export type FoldedValue = FoldedValues[TopicName];

/** A good record, as the Validator has it. `value` null is a tombstone. */
export type FoldedRecord = {
  [T in TopicName]: { readonly topic: T; readonly key: RecordKey; readonly value: FoldedValues[T] | null };
}[TopicName];

/** Folds good records into facts (docs/rules.md#law, #last-record-wins), and reports each fact that changed. */
export class Fold {
  readonly facts = new Facts();
  readonly #listeners = new Set<Touched>();
  #touched: Touched = ignoreChanges;
  /** The numbers, below 2^26, of what the last record was about. An RSVP and a relation have two. */
  readonly subject = { first: 0, second: 0 };

  /** Tells a listener about each change from now on, until the returned function is called. */
  subscribe(listener: Touched): () => void {
    this.#listeners.add(listener);
    this.#touched = tellAll([...this.#listeners]);
    return () => {
      this.#listeners.delete(listener);
      this.#touched = tellAll([...this.#listeners]);
    };
  }

  apply(record: FoldedRecord): void {
    if (record.topic === 'attendance') this.#attendance(record.key, record.value);
    else if (record.topic === 'relations') this.#relation(record.key, record.value);
    else this.#applyRare(record);
  }

  /** Of topics with few records. By itself, because V8 optimizes a small `apply` better. */
  #applyRare({ topic, key, value }: Exclude<FoldedRecord, { topic: 'attendance' | 'relations' }>): void {
    if (topic === 'metros') this.#metro(key, value);
    else if (topic === 'districts') this.#district(key, value);
    else if (topic === 'riders') this.#rider(key, value);
    else if (topic === 'rides') this.#ride(key, value);
    else if (topic === 'nights') this.#night(key, value);
    else this.#developerKey(key, value);
  }

  #about(first: number, second = 0): void {
    this.subject.first = first;
    this.subject.second = second;
  }

  #metro(key: RecordKey, metro: Metro | null): void {
    const number = key.numberIn(this.facts.metroIds, 0);
    this.#about(number);
    const before = this.facts.metros[number];
    this.facts.metros[number] = metro;
    this.facts.sum.record('metros', key.text(0), before ?? null, metro);
    if (before?.time_zone !== metro?.time_zone) this.#touched.metro(number);
  }

  #district(key: RecordKey, district: District | null): void {
    const slug = key.text(0);
    this.#about(key.numberIn(this.facts.districtIds, 0));
    this.facts.sum.record('districts', slug, this.facts.districts.get(slug) ?? null, district);
    if (district) this.facts.districts.set(slug, district);
    else this.facts.districts.delete(slug);
    for (const night of this.facts.nightsOfDistrict.get(slug) ?? []) this.#touched.night(night);
  }

  #ride(key: RecordKey, value: Ride | null): void {
    const number = this.facts.rideOf(key);
    this.#about(number);
    const fact = this.facts.rides[number]!;
    const before = fact.record;
    const metro = value ? this.facts.metroIds.add(value.metro) : noMetro;
    this.#touched.ride(number);
    if (fact.metro !== metro) {
      if (fact.metro >= 0) this.#leaveMetro(number, fact.metro);
      if (metro >= 0) this.#joinMetro(number, metro);
    }
    this.#leaders(number, new Set(before?.leaders), new Set(value?.leaders));
    fact.record = value;
    this.facts.sum.record('rides', fact.id, before, value);
    if (fact.metro === metro) return;
    fact.metro = metro;
    // Again, for the days of the metro that it is in now.
    this.#touched.ride(number);
  }

  #joinMetro(ride: RideNumber, metro: MetroNumber): void {
    link(this.facts.ridesOfMetro, metro, ride);
    for (const [day, night] of this.facts.rides[ride]!.nights) {
      if (this.facts.nightRecords[night]) link(this.facts.nightsOfDay, subjectDay(metro, day), night);
    }
  }

  #leaveMetro(ride: RideNumber, metro: MetroNumber): void {
    unlink(this.facts.ridesOfMetro, metro, ride);
    for (const [day, night] of this.facts.rides[ride]!.nights)
      unlink(this.facts.nightsOfDay, subjectDay(metro, day), night);
  }

  #leaders(ride: RideNumber, before: ReadonlySet<string>, after: ReadonlySet<string>): void {
    const { led, riderIds, rides } = this.facts;
    for (const id of before.symmetricDifference(after)) {
      const rider = riderIds.add(id);
      if (after.has(id)) link(led, rider, ride);
      else unlink(led, rider, ride);
      for (const day of rides[ride]!.nights.keys()) this.#touched.own(rider, day);
    }
  }

  #night(key: RecordKey, value: Night | null): void {
    const number = this.facts.nightOf(key);
    const ride = this.facts.nightRide[number]!;
    const { day } = key;
    this.#about(number);
    const before = this.facts.nightRecords[number]!;
    const { record, metro } = this.facts.rides[ride]!;
    if (before?.meeting?.district) unlink(this.facts.nightsOfDistrict, before.meeting.district, number);
    if (value?.meeting?.district) link(this.facts.nightsOfDistrict, value.meeting.district, number);
    if (record) {
      if (value) link(this.facts.nightsOfDay, subjectDay(metro, day), number);
      else unlink(this.facts.nightsOfDay, subjectDay(metro, day), number);
    }
    this.facts.nightRecords[number] = value;
    this.facts.sum.record('nights', key.text(0, 1), before, value);
    this.#touched.night(number);
    if (!before !== !value) {
      for (const leader of record?.leaders ?? []) this.#touched.own(this.facts.riderIds.add(leader), day);
    }
  }

  // docs/rules.md#erased-riders, #going-count
  #rider(key: RecordKey, value: Rider | null): void {
    const { facts } = this;
    const number = key.numberIn(facts.riderIds, 0);
    this.#about(number);
    const existed = facts.riderExists(number);
    facts.sum.record('riders', key.text(0), facts.riders[number] ?? null, value);
    // Without holes: an array filled at random is many times slower.
    while (facts.riders.length < number) facts.riders.push(null);
    facts.riders[number] = value && { handle: value.handle, name: value.name };
    this.#touched.card(number);
    if (existed === (value !== null)) return;
    for (let i = 0; i < facts.attendance.length(number); i++) {
      const night = facts.attendance.id(number, i);
      if (!goes(facts.attendance.bits(number, i))) continue;
      facts.nightGoing[night]! += value ? 1 : -1;
      this.#touched.night(night);
    }
    this.#touched.existence(number);
  }

  #attendance(key: RecordKey, value: FoldedValues['attendance'] | null): void {
    const { facts } = this;
    const night = facts.nightOf(key);
    const rider = key.numberIn(facts.riderIds, 2);
    this.#about(rider, night);
    const after = value ? rsvpBits(value.response, value.saved) : 0;
    const before = facts.attendance.set(rider, night, after);
    if (before === after) return;
    facts.sum.edge(rsvpEdge, facts.riderIds, rider, facts.nightKeys, night, before, after);
    const day = facts.nightDay[night]!;
    this.#touched.own(rider, day);
    const change = Number(goes(after)) - Number(goes(before));
    if (change === 0 || !facts.riderExists(rider)) return;
    facts.nightGoing[night]! += change;
    this.#touched.night(night);
    this.#touched.going(rider, day);
  }

  #relation(key: RecordKey, value: FoldedValues['relations'] | null): void {
    const { facts } = this;
    const reader = key.numberIn(facts.riderIds, 0);
    const other = key.numberIn(facts.riderIds, 1);
    this.#about(reader, other);
    const after = value ? relationBits(value) : 0;
    const before = facts.relations.set(reader, other, after);
    if (before === after) return;
    facts.sum.edge(relationEdge, facts.riderIds, reader, facts.riderIds, other, before, after);
    facts.watchers.set(other, reader, after & watches);
    this.#touched.relation(reader, other, before, after);
  }

  #developerKey(key: RecordKey, value: DeveloperKey | null): void {
    const { keyIds, hashIds, keyHashes, hashUses } = this.facts;
    const id = key.numberIn(keyIds, 0);
    this.#about(id);
    const before = keyHashes.get(id);
    const after = value ? hashIds.add(Buffer.from(value.key_hash).toString('hex')) : undefined;
    if (before === after) return;
    const hashOf = (hash: number | undefined) => (hash === undefined ? null : { key_hash: hashIds.text(hash) });
    this.facts.sum.record('developer-keys', key.text(0), hashOf(before), hashOf(after));
    if (before !== undefined) {
      hashUses[before]! -= 1;
      keyHashes.delete(id);
      this.#touched.keyHash(before);
    }
    if (after !== undefined) {
      hashUses[after] = (hashUses[after] ?? 0) + 1;
      keyHashes.set(id, after);
      this.#touched.keyHash(after);
    }
  }
}
