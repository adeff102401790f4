import { dayMax, dayMin, dayText, parseDay } from '../views/days.ts';
import { districtSlugPattern, idPattern, metroSlugPattern, rideIdPattern } from './patterns.ts';
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
} from './records.ts';

/**
 * Keys of the event log's records (docs/rules.md#keys, #tombstones): the fields that each topic's key is made of, as
 * text and as bytes. Keys are parsed, checked and compared with their values only here.
 */

/** The fields of a record that its key is made of. */
export interface KeyFields {
  metros: Pick<Metro, 'metro'>;
  districts: Pick<District, 'district'>;
  riders: Pick<Rider, 'rider'>;
  rides: Pick<Ride, 'ride'>;
  nights: Pick<Night, 'ride' | 'day'>;
  attendance: Pick<Attendance, 'ride' | 'day' | 'rider'>;
  relations: Pick<Relation, 'rider' | 'other'>;
  'developer-keys': Pick<DeveloperKey, 'key_id'>;
}

/** Why a key is bad. Also a metric label. */
export const keyFaults = ['key does not match its pattern', 'rider related to themself'] as const;
export type KeyFault = (typeof keyFaults)[number];

type FieldPattern = RegExp | 'day';
/** Each topic's fields with their patterns, in the order in which the key joins them with slashes. */
const shapes: { [T in TopicName]: readonly (readonly [keyof KeyFields[T] & string, FieldPattern])[] } = {
  metros: [['metro', metroSlugPattern]],
  districts: [['district', districtSlugPattern]],
  riders: [['rider', idPattern]],
  rides: [['ride', rideIdPattern]],
  nights: [
    ['ride', rideIdPattern],
    ['day', 'day'],
  ],
  attendance: [
    ['ride', rideIdPattern],
    ['day', 'day'],
    ['rider', idPattern],
  ],
  relations: [
    ['rider', idPattern],
    ['other', idPattern],
  ],
  'developer-keys': [['key_id', idPattern]],
};

const slash = 47;
const dayLength = 10;

/** The fields of a key, or why it is bad. */
export function parseRecordKey<T extends TopicName>(
  topic: T,
  key: string,
): { fields: KeyFields[T] } | { fault: KeyFault } {
  const shape = shapes[topic];
  const parts = key.split('/');
  if (parts.length !== shape.length) return { fault: 'key does not match its pattern' };
  const fields: Record<string, string | number> = {};
  for (const [i, [name, pattern]] of shape.entries()) {
    const field = parseField(parts[i]!, pattern);
    if (field === null) return { fault: 'key does not match its pattern' };
    fields[name] = field;
  }
  const fault = faultBetween(topic, fields as unknown as AnyRecord);
  return fault ? { fault } : { fields: fields as unknown as KeyFields[T] };
}

const parseField = (text: string, pattern: FieldPattern): string | number | null =>
  pattern === 'day' ? parseDay(text) : pattern.test(text) ? text : null;

const faultBetween = (topic: TopicName, record: AnyRecord): KeyFault | null =>
  topic === 'relations' && (record as Relation).rider === (record as Relation).other
    ? 'rider related to themself'
    : null;

/** Why a key is bad by itself, or null. */
export function keyFault(topic: TopicName, key: string): KeyFault | null {
  const parsed = parseRecordKey(topic, key);
  return 'fault' in parsed ? parsed.fault : null;
}

/** The fields of a key that was checked before. Throws for a bad key: folding it would change another key's fact. */
export function fieldsOfKey<T extends TopicName>(topic: T, key: string): KeyFields[T] {
  const parsed = parseRecordKey(topic, key);
  if ('fault' in parsed) throw new Error(`Cannot take a key of ${topic} apart: ${parsed.fault}`);
  return parsed.fields;
}

/** Why the key of a record is bad, or null. The record's fields must be those of the key (`isKeyOf`). */
export function fieldsFault(topic: TopicName, record: AnyRecord): KeyFault | null {
  for (const [name, pattern] of shapes[topic]) {
    if (pattern !== 'day' && !pattern.test(fieldOf(record, name) as string)) return 'key does not match its pattern';
  }
  return faultBetween(topic, record);
}

/**
 * Whether a key joins its record's fields. The day must be in the years 0001 to 9999. Compared piece by piece: there
 * are millions, and joining strings first would take longer.
 */
export function isKeyOf(topic: TopicName, key: string, record: AnyRecord): boolean {
  const shape = shapes[topic];
  let at = 0;
  for (let i = 0; i < shape.length; i++) {
    if (i > 0 && key.charCodeAt(at++) !== slash) return false;
    const [name, pattern] = shape[i]!;
    const field = fieldOf(record, name);
    const text = pattern === 'day' ? dayText(field as number) : (field as string);
    if (!key.startsWith(text, at)) return false;
    at += text.length;
  }
  return at === key.length;
}

const fieldOf = (record: AnyRecord, name: string): string | number =>
  (record as unknown as Record<string, string | number>)[name]!;

// Keys of RSVPs and relations as bytes, with the fields of their values left in place: no strings are made.

/** Texts of this many bytes, each of them allowed. All id patterns are ASCII. */
interface IdRule {
  min: number;
  max: number;
  /** 1 for each byte that is allowed. */
  bytes: Uint8Array;
}

/** The rule for a pattern of the form `^[…]{min,max}$`. */
function idRule(pattern: RegExp): IdRule {
  const [, characters, min, max] = /^\^(\[[^\]]+\])\{(\d+),(\d+)\}\$$/.exec(pattern.source)!;
  const allowed = new RegExp(characters!);
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => Number(allowed.test(String.fromCharCode(byte))));
  return { min: Number(min), max: Number(max), bytes };
}
const riderRule = idRule(idPattern);
const rideRule = idRule(rideIdPattern);

/**
 * Where the night ends in an RSVP's key `<ride>/<YYYY-MM-DD>/<rider>`, if the rider is the one in `value` and their id
 * is good. Otherwise -1.
 */
export function nightEndOf(key: Buffer, value: Buffer, riderStart: number, riderEnd: number): number {
  const nightEnd = key.length - 1 - (riderEnd - riderStart);
  return nightEnd > 0 && key[nightEnd] === slash && isSameId(riderRule, value, riderStart, riderEnd, key, nightEnd + 1)
    ? nightEnd
    : -1;
}

/** Whether a key begins with `<ride>/` and as many bytes as a day has, and the ride is good and the one in `value`. */
export function isRideOfNight(
  key: Buffer,
  nightEnd: number,
  value: Buffer,
  rideStart: number,
  rideEnd: number,
): boolean {
  const length = rideEnd - rideStart;
  return (
    nightEnd === length + 1 + dayLength &&
    key[length] === slash &&
    isSameId(rideRule, value, rideStart, rideEnd, key, 0)
  );
}

/** Whether the last bytes of a night, which ends at `nightEnd` of a key, are this day, in the years 0001 to 9999. */
export function isDayOfNight(key: Buffer, nightEnd: number, day: number): boolean {
  if (day < dayMin || day > dayMax) return false;
  const text = dayText(day);
  for (let i = 0; i < dayLength; i++) if (text.charCodeAt(i) !== key[nightEnd - dayLength + i]) return false;
  return true;
}

/** Whether a key is `<rider>/<other>`, of two different riders whose ids are good and are those in `value`. */
export function isRelationKey(
  key: Buffer,
  value: Buffer,
  riderStart: number,
  riderEnd: number,
  otherStart: number,
  otherEnd: number,
): boolean {
  const keyOther = riderEnd - riderStart + 1;
  return (
    key.length === keyOther + otherEnd - otherStart &&
    key[keyOther - 1] === slash &&
    isSameId(riderRule, value, riderStart, riderEnd, key, 0) &&
    isSameId(riderRule, value, otherStart, otherEnd, key, keyOther) &&
    !isTwice(key, keyOther)
  );
}

/** Whether an id matches its rule, and is in the key at this position. */
function isSameId(rule: IdRule, value: Buffer, start: number, end: number, key: Buffer, keyStart: number): boolean {
  const { bytes } = rule;
  if (end - start < rule.min || end - start > rule.max) return false;
  for (let i = start, j = keyStart; i < end; i++, j++) {
    const byte = value[i]!;
    if (byte !== key[j] || bytes[byte] === 0) return false;
  }
  return true;
}

/** Whether the text before a key's slash is repeated after it. */
function isTwice(key: Buffer, after: number): boolean {
  if (key.length !== 2 * after - 1) return false;
  for (let i = after; i < key.length; i++) if (key[i] !== key[i - after]) return false;
  return true;
}
