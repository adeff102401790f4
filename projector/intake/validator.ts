import { isUtf8 } from 'node:buffer';
import tzdata from 'tzdata' with { type: 'json' };
import { Cursor } from '../../schemas/avro/avro-cursor.ts';
import { placeValue } from '../../schemas/avro/codec.ts';
import { agrees, isRelation, isRsvp } from '../../schemas/avro/key-agreement.ts';
import type { Placed } from '../../schemas/avro/placed.ts';
import type { TopicDecoder } from '../../schemas/avro/topic-decoder.ts';
import { keylessReason, reasonOf } from '../../schemas/avro/undecodable.ts';
import { urlPattern } from '../../schemas/events/patterns.ts';
import { type KeyFault, RecordKey } from '../../schemas/events/record-keys.ts';
import type { AnyRecord, Attendance, Metro, Night, Relation, Ride, TopicName } from '../../schemas/events/records.ts';
import { dayMax, dayMin } from '../../schemas/views/days.ts';
import type { FoldedRecord, FoldedValue } from '../facts/fold.ts';
import { type BadReason, explained, type RecordBytes } from './reasons.ts';

/**
 * Decodes records and finds the bad ones. Every record of every log comes this way. All values are read with their texts
 * left in place. Only topics whose facts keep texts get them decoded. RSVPs and relations, of which there are millions,
 * are compared with their keys as bytes, and their ids are looked up in the key's bytes.
 */
export class Validator {
  /** Of the last record. */
  topic: TopicName = 'metros';
  /** The key of the last good record. */
  readonly key = new RecordKey();
  /** The value of the last good record. Null is a tombstone. */
  value: FoldedValue | null = null;
  /** The value's revision. */
  revision = 0;
  readonly #cursor = new Cursor();

  /** The last record, if it is good: its value is of its topic. It is this object: valid until the next one. */
  get good(): FoldedRecord {
    return this as FoldedRecord;
  }

  /** Why a record is bad. Null if it is good: `good` and `revision` are then those of the record. */
  validate({ topic, keyBytes, valueBytes, decoder }: RecordBytes): BadReason | null {
    this.topic = topic;
    this.value = null;
    if (keyBytes === null) return keylessReason(decoder);
    const keyFault = this.key.set(topic, keyBytes);
    if (keyFault && !isUtf8(keyBytes)) return 'key is not UTF-8';
    // A tombstone needs a good key alone (docs/rules.md#tombstones).
    if (valueBytes === null) return keyFault;
    if (typeof decoder === 'string') return decoder;
    try {
      return topic === 'attendance' || topic === 'relations'
        ? this.#validateInPlace(topic, keyFault, decoder!, valueBytes)
        : this.#validateTexts(topic, keyFault, decoder!, valueBytes);
    } catch (error) {
      return reasonOf(error);
    }
  }

  // Two methods, because V8 compiles a call for at most four shapes of object. With one call that reads and one that
  // compares the values of all eight topics, the fold took an eighth longer.

  #validateInPlace(
    topic: 'attendance' | 'relations',
    keyFault: KeyFault | null,
    decoder: TopicDecoder,
    bytes: Buffer,
  ): BadReason | null {
    const cursor = this.#cursor.set(bytes, decoder.headerBytes);
    const placed = decoder.place(cursor) as Placed<Attendance | Relation> | null;
    if (cursor.pos !== bytes.length) return 'trailing bytes';
    if (placed === null) return keyFault;
    const good =
      topic === 'attendance'
        ? isRsvp(this.key, placed as Placed<Attendance>, cursor)
        : isRelation(this.key, placed as Placed<Relation>, cursor);
    if (keyFault !== null || !good) {
      return disagreement(keyFault, decoder.spell(placed, cursor));
    }
    this.value = placed;
    this.revision = Number(placed.revision);
    return null;
  }

  #validateTexts(topic: TopicName, keyFault: KeyFault | null, decoder: TopicDecoder, bytes: Buffer): BadReason | null {
    const placed = placeValue(decoder, bytes, this.#cursor);
    if (placed === null) return keyFault;
    const value = decoder.spell(placed, this.#cursor);
    if (keyFault !== null || !agrees(topic, this.key, placed, this.#cursor)) {
      return disagreement(keyFault, value);
    }
    this.value = value;
    this.revision = Number(value.revision);
    return contentFault(topic, value);
  }
}

/** The reason if key and value are bad together. A day that no key can have is the value's fault. */
function disagreement(keyFault: KeyFault | null, value: AnyRecord): BadReason {
  // Nights and RSVPs alone have a day.
  const { day = 0 } = value as Partial<Night | Attendance>;
  if (day < dayMin || day > dayMax) return 'day outside years 0001 to 9999';
  return keyFault ?? 'key disagrees with value';
}

// docs/rules.md#time-zones: names exactly as the IANA database spells them. Factory means "not set up".
const zones = new Set(Object.keys(tzdata.zones).filter((name) => name !== 'Factory'));

/** What is wrong with a value that has the fields of its key, or null. */
function contentFault(topic: TopicName, value: AnyRecord): BadReason | null {
  switch (topic) {
    case 'metros':
      return zones.has((value as Metro).time_zone) ? null : 'time zone is not in the IANA database';
    case 'rides':
      return urlFault((value as Ride).url);
    case 'nights':
      return timeFault((value as Night).meet_time) ?? urlFault((value as Night).url);
    default:
      return null;
  }
}

// docs/rules.md#urls
const urlFault = (url: string): BadReason | null => (urlPattern.test(url) ? null : 'url does not match its pattern');
// docs/rules.md#days-and-times
const timeFault = (time: number | null): BadReason | null =>
  time !== null && (time < 0 || time >= 86_400_000) ? 'time outside the day' : null;

const validator = new Validator();

/** Why a record is bad, with the field and the rule, or null. */
export function whyBad(record: RecordBytes): string | null {
  const reason = validator.validate(record);
  return reason && explained(record, reason);
}
