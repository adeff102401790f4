import { dayOfBytes, dayTextLength, parseDay } from '../views/days.ts';
import { districtSlugPattern, idPattern, metroSlugPattern, rideIdPattern } from './patterns.ts';
import type { Attendance, DeveloperKey, District, Metro, Night, Relation, Ride, Rider, TopicName } from './records.ts';

/**
 * Keys of the event log's records (docs/rules.md#keys): the fields that each topic's key is made of. Keys are
 * parsed and checked only here, and as bytes, because there are millions. avro/key-agreement.ts compares them with values.
 */

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

/** What a field of a key must be: a text of `min` to `max` allowed bytes (ids are all ASCII), or a day. */
type FieldRule = { pattern: RegExp; min: number; max: number; allowed: Uint8Array } | 'day';

/** The rule of a pattern of the form `^[…]{min,max}$`. */
function idRule(pattern: RegExp): FieldRule {
  const [, characters, min, max] = /^\^(\[[^\]]+\])\{(\d+),(\d+)\}\$$/.exec(pattern.source)!;
  const character = new RegExp(characters!);
  const allowed = Uint8Array.from({ length: 256 }, (_, byte) => Number(character.test(String.fromCharCode(byte))));
  return { pattern, min: Number(min), max: Number(max), allowed };
}

/** What a field of a key must match, in words. */
export const patternOf = (rule: FieldRule): string => (rule === 'day' ? 'YYYY-MM-DD' : rule.pattern.source);

export const isOfRule = (rule: FieldRule, text: string): boolean =>
  rule === 'day' ? parseDay(text) !== null : rule.pattern.test(text);

const ride = idRule(rideIdPattern);
const id = idRule(idPattern);

/** Each topic's fields and their rules, in the order in which the key joins them with slashes. */
export const keyShapes: {
  [T in TopicName]: { names: readonly (keyof KeyFields[T] & string)[]; rules: readonly FieldRule[] };
} = {
  metros: { names: ['metro'], rules: [idRule(metroSlugPattern)] },
  districts: { names: ['district'], rules: [idRule(districtSlugPattern)] },
  riders: { names: ['rider'], rules: [id] },
  rides: { names: ['ride'], rules: [ride] },
  nights: { names: ['ride', 'day'], rules: [ride, 'day'] },
  attendance: { names: ['ride', 'day', 'rider'], rules: [ride, 'day', id] },
  relations: { names: ['rider', 'other'], rules: [id, id] },
  'developer-keys': { names: ['key_id'], rules: [id] },
};

const slash = 47;
const fieldsMax = 3;
const offPattern: KeyFault = 'key does not match its pattern';

interface NumberedTexts<N extends number> {
  addBytes(from: Buffer, start: number, end: number): N;
}

/** A parsed key whose fields stay in place in its bytes. One object is reused for key after key. */
export class RecordKey {
  bytes: Buffer = Buffer.alloc(0);
  /** The start and the end of each field. */
  readonly places = new Int32Array(2 * fieldsMax);
  /** The day of a night's or an RSVP's key. */
  day = 0;
  // Looked up once per batch, because a batch has one topic: with eight names the look-up is slow.
  #topic: TopicName = 'metros';
  #rules: readonly FieldRule[] = keyShapes.metros.rules;

  /** Parses a key. Returns why it is bad, or null. */
  set(topic: TopicName, bytes: Buffer): KeyFault | null {
    if (topic !== this.#topic) this.#begin(topic);
    const { places } = this;
    const rules = this.#rules;
    this.bytes = bytes;
    let at = 0;
    for (let i = 0; i < rules.length; i++) {
      if (i > 0 && bytes[at++] !== slash) return offPattern;
      places[2 * i] = at;
      at = this.#endOf(rules[i]!, at);
      if (at < 0) return offPattern;
      places[2 * i + 1] = at;
    }
    if (at !== bytes.length) return offPattern;
    return topic === 'relations' && this.#isSame(0, bytes, places[2]!, places[3]!) ? 'rider related to themself' : null;
  }

  #begin(topic: TopicName): void {
    this.#topic = topic;
    this.#rules = keyShapes[topic].rules;
  }

  /** The end of the field that begins here. -1 if the field breaks its rule. */
  #endOf(rule: FieldRule, start: number): number {
    const { bytes } = this;
    if (rule === 'day') {
      this.day = dayOfBytes(bytes, start);
      return Number.isNaN(this.day) ? -1 : start + dayTextLength;
    }
    const { min, max, allowed } = rule;
    let end = start;
    while (end < bytes.length && allowed[bytes[end]!] === 1) end++;
    return end - start < min || end - start > max ? -1 : end;
  }

  /** Whether a field is the same text as that at a place of a value: its bytes, and where each text begins and ends. */
  isAt(field: number, place: number, value: { readonly buf: Buffer; readonly places: Int32Array }): boolean {
    return this.#isSame(field, value.buf, value.places[place]!, value.places[place + 1]!);
  }

  #isSame(field: number, other: Buffer, start: number, end: number): boolean {
    const { bytes, places } = this;
    const from = places[2 * field]!;
    if (places[2 * field + 1]! - from !== end - start) return false;
    for (let i = start, j = from; i < end; i++, j++) if (other[i] !== bytes[j]) return false;
    return true;
  }

  /** The interned number of a field, or of several fields with the slashes between them. */
  numberIn<N extends number>(numbered: NumberedTexts<N>, field: number, lastField = field): N {
    return numbered.addBytes(this.bytes, this.places[2 * field]!, this.places[2 * lastField + 1]!);
  }

  /** The text of a field, or of several fields with the slashes between them. */
  text(field: number, lastField = field): string {
    return this.bytes.toString('latin1', this.places[2 * field], this.places[2 * lastField + 1]);
  }
}

const parsed = new RecordKey();

/** The fields of a key, or why it is bad: e.g. ride `taco` and day 16,599 for `taco/2015-06-13` of `nights`. */
export function parseRecordKey<T extends TopicName>(
  topic: T,
  key: string,
): { fields: KeyFields[T] } | { fault: KeyFault } {
  const fault = parsed.set(topic, Buffer.from(key));
  if (fault) return { fault };
  const { names, rules } = keyShapes[topic];
  const fields = names.map((name, i) => [name, rules[i] === 'day' ? parsed.day : parsed.text(i)]);
  return { fields: Object.fromEntries(fields) as KeyFields[T] };
}

/** The fields of a key that was checked before. Throws for a bad key. */
export function fieldsOfKey<T extends TopicName>(topic: T, key: string): KeyFields[T] {
  const known = parseRecordKey(topic, key);
  if ('fault' in known) throw new Error(`Cannot take a key of ${topic} apart: ${known.fault}`);
  return known.fields;
}
