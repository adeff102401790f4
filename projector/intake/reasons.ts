import { decodeWith, ownDecoder } from '../../schemas/avro/codec.ts';
import { detailOf, kindOf, type UndecodableReason, undecodableReasons } from '../../schemas/avro/undecodable.ts';
import { urlCharacters } from '../../schemas/events/patterns.ts';
import { isOfRule, keyFaults, keyShapes, patternOf } from '../../schemas/events/record-keys.ts';
import { dayText } from '../../schemas/views/days.ts';
import type { EncodedRecord } from '../ports/event-log.ts';

/** What can be wrong with a value, apart from its key (docs/rules.md#what-is-bad). */
const contentFaults = [
  'time zone is not in the IANA database',
  'url does not match its pattern',
  'day outside years 0001 to 9999',
  'time outside the day',
] as const;

/** The kinds of reasons why a record is bad (docs/rules.md#what-is-bad, #rejected): a small fixed set, because they label a metric. */
export const badReasons = [...undecodableReasons, ...keyFaults, 'key disagrees with value', ...contentFaults] as const;
/** A kind, or of a writer's schema the whole reason. */
export type BadReason = (typeof badReasons)[number] | UndecodableReason;

export type RecordBytes = Pick<EncodedRecord, 'topic' | 'keyBytes' | 'valueBytes' | 'decoder'>;

/** The field and the rule, for each kind whose field is always the same. */
const rules: Partial<Record<BadReason, string>> = {
  'time zone is not in the IANA database': 'field time_zone: want a Zone or Link name exactly as spelled there',
  // In words: a pattern has backslashes, which JSON doubles.
  'url does not match its pattern': `field url: want http:// or https://, then only A-Z a-z 0-9 and ${urlCharacters}`,
  'day outside years 0001 to 9999': 'field day: want days since 1970-01-01, from -719162 to 2932896',
  'time outside the day': 'field meet_time: want milliseconds since midnight, from 0 to 86399999',
  'rider related to themself': 'field other: want another rider than in field rider',
};

/** What the first bytes of some other formats are. A reason shows the first one alone: more may be a rider's. */
const formats: Record<string, string> = { '7b': 'JSON', '4f626a01': 'an Avro file' };

// Names in a writer's schema may have any length.
const lengthMax = 1_000;

/**
 * A bad record's reason with what its publisher needs to mend it: the field and the rule, never the value
 * (docs/rules.md#reasons). It takes a while, so it is for bad records alone.
 */
export function explained(record: RecordBytes, reason: BadReason): string {
  const detail = detailOf(reason) ? null : (rules[reason] ?? foundDetail(record, reason));
  const read = kindOf(reason) === 'unknown fingerprint' ? `. ${readWithOurs(record)}` : '';
  return `${reason}${detail ? `: ${detail}` : ''}${read}`.slice(0, lengthMax);
}

/** Whether a value of a schema that nobody knows fits our own: a hint where the schemas differ. */
function readWithOurs({ topic, valueBytes }: RecordBytes): string {
  const found = ownDecoder(topic).explain!(valueBytes!);
  return found === null
    ? 'Read with ours the value fits: compare names, symbols, unions, and the fingerprint itself (CRC-64-AVRO of the canonical form, little-endian)'
    : `Read with ours the value does not fit (${found}): compare the fields there and before`;
}

function foundDetail({ topic, keyBytes, valueBytes, decoder }: RecordBytes, reason: BadReason): string | null {
  const { names, rules } = keyShapes[topic];
  const parts = String(keyBytes).split('/');
  const shape = `${names.join('/')}, with ${names.map((name, i) => `${name} ${patternOf(rules[i]!)}`).join(', ')}`;
  switch (reason) {
    case 'no key':
      return `want ${shape}`;
    case 'not Avro': {
      const first = valueBytes!.toString('hex', 0, 4);
      const format = Object.entries(formats).find(([bytes]) => first.startsWith(bytes))?.[1];
      const got = first === '' ? 'is empty, and a tombstone is null' : `begins with ${first.slice(0, 2)}`;
      return `want C3 01 and a fingerprint, or 00 and a schema id, first; it ${got}${format ? `, as ${format} does` : ''}`;
    }
    case 'key does not match its pattern': {
      if (parts.length !== names.length) return `want ${shape}`;
      const off = names.findIndex((_, i) => !isOfRule(rules[i]!, parts[i]!));
      return `field ${names[off]}: want ${patternOf(rules[off]!)}`;
    }
    case 'key disagrees with value': {
      const { value = {} } = decodeWith(decoder!, valueBytes!) as { value?: object };
      const own = { ...value, ...('day' in value! && { day: dayText(Number(value.day)) }) } as Record<string, unknown>;
      return `field ${names.filter((name, i) => own[name] !== parts[i]).join(', field ')}: want what the key has`;
    }
    default: {
      const found = typeof decoder === 'object' ? decoder?.explain?.(valueBytes!) : null;
      return found && kindOf(found) === reason ? detailOf(found) : null;
    }
  }
}
