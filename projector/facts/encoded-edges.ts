import { Cursor } from '../../schemas/avro/avro-cursor.ts';
import type { Placed } from '../../schemas/avro/avro-reader.ts';
import type { Attendance, Relation } from '../../schemas/events/records.ts';
import { dayMax, dayMin, dayText } from '../../schemas/views/days.ts';
import type { EncodedRecord } from '../ports/event-log.ts';
import { answerBits, relationBits } from './facts.ts';
import type { Fold } from './fold.ts';
import type { RevisionWatch } from './revision-watch.ts';

const slash = 47;
const dayLength = 10;

/** Texts of so many bytes, each allowed: the patterns of ids (schemas/events/patterns.ts), which are all ASCII. */
interface IdRule {
  min: number;
  max: number;
  /** 1 for each byte that is allowed. */
  bytes: Uint8Array;
}
const idRule = (min: number, max: number, allowed: RegExp): IdRule => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => Number(allowed.test(String.fromCharCode(byte))));
  return { min, max, bytes };
};
const riderRule = idRule(1, 64, /[A-Za-z0-9_-]/);
const rideRule = idRule(4, 32, /[a-z0-9]/);

/**
 * Folds answers and relations, of which there are millions, from their bytes: no text is made of them, and ids are
 * looked up as they lie. It takes what is plainly good and refuses the rest, which is then decoded and judged as any
 * other record: why a record is bad is found there alone. What it takes `badRecord` would let pass.
 */
export class EncodedEdges {
  readonly #fold: Fold;
  readonly #cursor = new Cursor();

  constructor(fold: Fold) {
    this.#fold = fold;
  }

  /** Folds a record, and says whether its revision fell; null where it is refused, with nothing done. */
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
  #takeAttendance(key: Buffer, value: Buffer, answer: Placed<Attendance>, watch: RevisionWatch): boolean | null {
    const { facts } = this.#fold;
    const { places } = this.#cursor;
    const riderStart = places[answer.rider]!;
    const riderEnd = places[answer.rider + 1]!;
    const nightEnd = key.length - 1 - (riderEnd - riderStart);
    if (key[nightEnd] !== slash || !isSameId(riderRule, value, riderStart, riderEnd, key, nightEnd + 1)) return null;
    const known = facts.nightKeys.findBytes(key, 0, nightEnd);
    if (!this.#isNight(key, nightEnd, value, answer, known)) return null;
    const night =
      known >= 0 ? known : this.#newNight(answer.day, value, places[answer.ride]!, places[answer.ride + 1]!);
    const rider = facts.riderIds.addBytes(value, riderStart, riderEnd);
    this.#fold.answer(rider, night, answerBits(answer.response, answer.saved));
    return watch.fellOfPair(rider, night, Number(answer.revision));
  }

  /** Whether an answer's ride and day are those of the key's first bytes; a night that is `known` has good ones. */
  #isNight(key: Buffer, nightEnd: number, value: Buffer, { ride, day }: Placed<Attendance>, known: number): boolean {
    const { places } = this.#cursor;
    const start = places[ride]!;
    const end = places[ride + 1]!;
    if (nightEnd !== end - start + 1 + dayLength || !isSameId(rideRule, value, start, end, key, 0)) return false;
    if (known >= 0) return this.#fold.facts.nightDay[known] === day;
    return day >= dayMin && day <= dayMax && key[end - start] === slash && isDay(key, end - start + 1, day);
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
    const keyOther = riderEnd - riderStart + 1;
    if (
      key.length !== keyOther + otherEnd - otherStart ||
      key[keyOther - 1] !== slash ||
      !isSameId(riderRule, value, riderStart, riderEnd, key, 0) ||
      !isSameId(riderRule, value, otherStart, otherEnd, key, keyOther) ||
      isTwice(key, keyOther)
    ) {
      return null;
    }
    const { riderIds } = this.#fold.facts;
    const reader = riderIds.addBytes(value, riderStart, riderEnd);
    const other = riderIds.addBytes(value, otherStart, otherEnd);
    this.#fold.relate(reader, other, relationBits(relation));
    return watch.fellOfPair(reader, other, Number(relation.revision));
  }
}

/** Whether an id keeps to its rule, and stands in the key from a place on. */
function isSameId(rule: IdRule, value: Buffer, start: number, end: number, key: Buffer, keyStart: number): boolean {
  const { bytes } = rule;
  if (end - start < rule.min || end - start > rule.max) return false;
  for (let i = start, j = keyStart; i < end; i++, j++) {
    const byte = value[i]!;
    if (byte !== key[j] || bytes[byte] === 0) return false;
  }
  return true;
}

/** Whether what comes before a key's slash comes again after it. */
function isTwice(key: Buffer, after: number): boolean {
  if (key.length !== 2 * after - 1) return false;
  for (let i = after; i < key.length; i++) if (key[i] !== key[i - after]) return false;
  return true;
}

function isDay(key: Buffer, start: number, day: number): boolean {
  const text = dayText(day);
  for (let i = 0; i < dayLength; i++) if (text.charCodeAt(i) !== key[start + i]) return false;
  return true;
}
