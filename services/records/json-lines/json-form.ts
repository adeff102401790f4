import type { Type } from 'avsc';
import { isArray, isEnum, isFixed, isRecord, isUnion, logicalTypes } from '../../../schemas/avro/avro-type-kinds.ts';
import { topicTypes } from '../../../schemas/avro/avro-types.ts';
import { clampedMs, type Long, longInJson, longOf } from '../../../schemas/events/instants.ts';
import { type AnyRecord, byTopic } from '../../../schemas/events/records.ts';
import { dayText, parseDay } from '../../../schemas/views/days.ts';
import { instantText } from '../../cli/instant-texts.ts';

/** What is wrong with a line: which field, and what it must be. Never the value, which may be a rider's. */
export class LineError extends Error {
  override name = 'LineError';
}

/** What a field that may be absent gets in place of null, by its name. */
type Stamps = Readonly<Record<string, Long>>;

/** How the values of a schema stand in JSON (docs/rules.md#json-lines). */
interface JsonForm {
  /** A value of the schema. `at`: the field's name, for errors. Throws LineError. */
  read(json: unknown, at: string, stamps?: Stamps): unknown;
  /** The JSON of a value of the schema. */
  show(value: never): unknown;
}

const off = (at: string, json: unknown, want: string): LineError =>
  new LineError(json === undefined ? `${at} is missing, want ${want}` : `${at} is not ${want}`);

/** A form whose JSON is a text of some pattern. `read` gives undefined for a text that is off it. */
const textForm = (
  want: string,
  read: (text: string) => unknown,
  show: (value: never) => unknown = (value) => value,
): JsonForm => ({
  read(json, at) {
    const value = typeof json === 'string' ? read(json) : undefined;
    if (value === undefined) throw off(at, json, want);
    return value;
  },
  show,
});

// A lone surrogate has no UTF-8: another text would be published.
const text = textForm('a text of whole Unicode characters', (one) => (one.isWellFormed() ? one : undefined));

const day = textForm('a date, YYYY-MM-DD, of years 0001 to 9999', (one) => parseDay(one) ?? undefined, dayText);

const timePattern = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{3}))?)?$/;

const time = textForm('a time of day, HH:MM, HH:MM:SS or HH:MM:SS.mmm', timeOf, (ms: number) => {
  const shown = new Date(ms).toISOString().slice(11, 23);
  return shown.replace(/\.000$/, '').replace(/:00$/, '');
});

function timeOf(one: string): number | undefined {
  const [, hours, minutes, seconds = 0, ms = 0] = timePattern.exec(one) ?? [];
  return hours === undefined
    ? undefined
    : ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000 + Number(ms);
}

const decimalPattern = /^-?\d{1,19}$/;

/** A number of 64 bits from its decimal text. */
function longOfText(one: string): Long | undefined {
  const big = decimalPattern.test(one) ? BigInt(one) : null;
  return big === null || BigInt.asIntN(64, big) !== big ? undefined : longOf(big);
}

const instantPattern = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:\.\d+)?)([Zz]|[+-]\d\d:\d\d)$/;

const instant = textForm('an instant with its offset, such as 2026-11-26T18:30:00Z', instantOf, (ms: Long) =>
  instantText(ms).replace('.000Z', 'Z'),
);

/** Decimal milliseconds stand only for what RFC 3339 cannot say: seconds in their place would be an instant of 1970. */
function instantOf(one: string): Long | undefined {
  const [, date, clock, zone] = instantPattern.exec(one) ?? [];
  if (date === undefined) {
    const ms = longOfText(one);
    return ms !== undefined && clampedMs(ms) !== ms ? ms : undefined;
  }
  const ms = parseDay(date) === null ? Number.NaN : Date.parse(`${date}T${clock}${zone!.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : ms;
}

const long: JsonForm = {
  read(json, at) {
    if (Number.isSafeInteger(json)) return json;
    const value = typeof json === 'string' ? longOfText(json) : undefined;
    if (value === undefined) throw off(at, json, 'a whole number of 64 bits (beyond 2^53 as a decimal text)');
    return value;
  },
  show: longInJson,
};

const boolean: JsonForm = {
  read(json, at) {
    if (typeof json !== 'boolean') throw off(at, json, 'true or false');
    return json;
  },
  show: (value) => value,
};

const forms = new Map([
  ['string', text],
  ['boolean', boolean],
  ['long', long],
  ['date (int)', day],
  ['time-millis (int)', time],
  ['timestamp-millis (long)', instant],
]);

function formOf(type: Type): JsonForm {
  if (isUnion(type)) return nullable(formOf(type.types.find(({ typeName }) => typeName !== 'null')!));
  if (isRecord(type)) return recordForm(type.fields.map(({ name, type: of }) => [name, formOf(of)]));
  if (isArray(type)) return listForm(formOf(type.itemsType));
  if (isEnum(type)) {
    const { symbols } = type;
    return textForm(`one of ${symbols.join(', ')}`, (one) => (symbols.includes(one) ? one : undefined));
  }
  if (isFixed(type)) {
    const hex = new RegExp(`^[0-9a-fA-F]{${2 * type.size}}$`);
    const bytesOf = (one: string) => (hex.test(one) ? Buffer.from(one, 'hex') : undefined);
    return textForm(`${type.size} bytes in hex`, bytesOf, (bytes: Buffer) => bytes.toString('hex'));
  }
  const logical = logicalTypes.get(type);
  return forms.get(logical === undefined ? type.typeName : `${logical} (${type.typeName})`)!;
}

const nullable = ({ read, show }: JsonForm): JsonForm => ({
  read: (json, at) => (json === undefined || json === null ? null : read(json, at)),
  show: (value) => (value === null ? null : show(value)),
});

const listForm = (item: JsonForm): JsonForm => ({
  read(json, at) {
    if (!Array.isArray(json)) throw off(at, json, 'a list');
    return json.map((one, i) => item.read(one, `${at}[${i}]`));
  },
  show: (list: never[]) => list.map((one) => item.show(one)),
});

function recordForm(fields: readonly (readonly [string, JsonForm])[]): JsonForm {
  const names = fields.map(([name]) => name);
  return {
    read(json, at, stamps) {
      const given = membersOf(json, at, names);
      const inner = at === 'value' ? '' : `${at}.`;
      const value: Record<string, unknown> = {};
      for (const [name, form] of fields) {
        const one = given[name];
        value[name] = one === undefined && stamps?.[name] !== undefined ? stamps[name] : form.read(one, inner + name);
      }
      return value;
    },
    show: (value) => Object.fromEntries(fields.map(([name, { show }]) => [name, show(value[name])])),
  };
}

/** An object's members, none of which has another name than these. Throws LineError. */
export function membersOf(json: unknown, at: string, names: readonly string[]): Record<string, unknown> {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw off(at, json, 'an object');
  for (const name in json) {
    if (names.includes(name)) continue;
    throw new LineError(`${at} has an unknown field ${JSON.stringify(name.slice(0, 64))}, want ${names.join(', ')}`);
  }
  return json as Record<string, unknown>;
}

/** The form of each topic's values. */
export const jsonForms = byTopic(
  (topic) => formOf(topicTypes[topic]) as JsonForm & { show(value: AnyRecord): unknown },
);
