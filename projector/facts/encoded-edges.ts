import { Cursor } from '../../schemas/avro/avro-cursor.ts';
import type { Placed } from '../../schemas/avro/avro-reader.ts';
import { isDayOfNight, isRelationKey, isRideOfNight, nightEndOf } from '../../schemas/events/record-keys.ts';
import type { Attendance, Relation } from '../../schemas/events/records.ts';
import type { EncodedRecord } from '../ports/event-log.ts';
import { relationBits, rsvpBits } from './facts.ts';
import type { Fold } from './fold.ts';
import type { RevisionWatch } from './revision-watch.ts';

/**
 * Folds RSVPs and relations, of which there are millions, from their bytes: no strings are made, and ids are looked up
 * where they are in the record. It accepts what is plainly good and refuses the rest. What it refuses is decoded and
 * checked like any other record, so there alone it is decided why a record is bad. `badRecord` would accept everything
 * that this accepts.
 */
export class EncodedEdges {
  readonly #fold: Fold;
  readonly #cursor = new Cursor();

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  /** Folds a record and returns whether its revision regressed. Null if it is refused; then nothing has changed. */
  take(record: EncodedRecord, watch: RevisionWatch): boolean | null {
    const placed = this.#read(record);
    if (placed === null) return null;
    return record.topic === 'attendance'
      ? this.#takeAttendance(record.keyBytes, record.valueBytes, placed as Placed<Attendance>, watch)
      : this.#takeRelation(record.keyBytes, record.valueBytes, placed as Placed<Relation>, watch);
  }

  #read({ valueBytes, reader }: EncodedRecord): Placed<Attendance> | Placed<Relation> | null {
    const cursor = this.#cursor;
    try {
      const placed = reader.place!(cursor.set(valueBytes, reader.headerBytes));
      return cursor.pos === valueBytes.length ? placed : null;
    } catch {
      return null;
    }
  }

  /** The key is `<ride>/<YYYY-MM-DD>/<rider>`. */
  #takeAttendance(key: Buffer, value: Buffer, rsvp: Placed<Attendance>, watch: RevisionWatch): boolean | null {
    const { facts } = this.#fold;
    const { places } = this.#cursor;
    const riderStart = places[rsvp.rider]!;
    const riderEnd = places[rsvp.rider + 1]!;
    const nightEnd = nightEndOf(key, value, riderStart, riderEnd);
    if (nightEnd < 0) return null;
    const known = facts.nightKeys.findBytes(key, 0, nightEnd);
    if (!this.#isNight(key, nightEnd, value, rsvp, known)) return null;
    const night = known >= 0 ? known : this.#newNight(rsvp.day, value, places[rsvp.ride]!, places[rsvp.ride + 1]!);
    const rider = facts.riderIds.addBytes(value, riderStart, riderEnd);
    this.#fold.respond(rider, night, rsvpBits(rsvp.response, rsvp.saved));
    return watch.pairRegressed(rider, night, Number(rsvp.revision));
  }

  /** Whether an RSVP's ride and day are those of the key's first bytes. A night that is `known` has good ones. */
  #isNight(key: Buffer, nightEnd: number, value: Buffer, { ride, day }: Placed<Attendance>, known: number): boolean {
    const { places } = this.#cursor;
    if (!isRideOfNight(key, nightEnd, value, places[ride]!, places[ride + 1]!)) return false;
    return known >= 0 ? this.#fold.facts.nightDay[known] === day : isDayOfNight(key, nightEnd, day);
  }

  #newNight(day: number, value: Buffer, rideStart: number, rideEnd: number): number {
    const { facts } = this.#fold;
    return facts.nightNumber(facts.rideNumberOf(value, rideStart, rideEnd), day);
  }

  /** The key is `<rider>/<other>`. */
  #takeRelation(key: Buffer, value: Buffer, relation: Placed<Relation>, watch: RevisionWatch): boolean | null {
    const { places } = this.#cursor;
    const [riderStart, riderEnd] = [places[relation.rider]!, places[relation.rider + 1]!];
    const [otherStart, otherEnd] = [places[relation.other]!, places[relation.other + 1]!];
    if (!isRelationKey(key, value, riderStart, riderEnd, otherStart, otherEnd)) return null;
    const { riderIds } = this.#fold.facts;
    const reader = riderIds.addBytes(value, riderStart, riderEnd);
    const other = riderIds.addBytes(value, otherStart, otherEnd);
    this.#fold.relate(reader, other, relationBits(relation));
    return watch.pairRegressed(reader, other, Number(relation.revision));
  }
}
