import avro, { type Schema, type Type } from 'avsc';
import { isArray, isEnum, isRecord, isUnion } from '../../../schemas/avro/avro-type-kinds.ts';
import { parseOurs, topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { clampedMs, type Long, longInJson, longOf } from '../../../schemas/events/instants.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { dayText, parseDay } from '../../../schemas/views/days.ts';
import { instantText } from '../../cli/instant-texts.ts';

/** What is wrong with a line: which field, and what it must be. Never the value, which may be a rider's. */
export class LineError extends Error {
  override name = 'LineError';
}

function off(at: string, json: unknown, want: string): LineError {
  if (json === undefined) return new LineError(`${at} is missing, want ${want}`);
  const found = json === null ? 'null' : Array.isArray(json) ? 'a list' : `a JSON ${typeof json}`;
  return new LineError(`${at} is not ${want}${typeof json === 'string' ? '' : `, but ${found}`}`);
}

/** How values of a type stand in JSON. */
interface Form {
  want: string;
  /** The value. Undefined: there is none. */
  read(json: unknown): unknown;
  show(value: never): unknown;
}

const textForm = (want: string, read: (text: string) => unknown, show: Form['show']): Form => ({
  want,
  read: (json) => (typeof json === 'string' ? read(json) : undefined),
  show,
});

const timePattern = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{3}))?)?$/;

function timeOf(text: string): number | undefined {
  const [, hours, minutes, seconds = 0, ms = 0] = timePattern.exec(text) ?? [];
  if (hours !== undefined) return ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000 + Number(ms);
}

const timeText = (ms: number): string =>
  new Date(ms)
    .toISOString()
    .slice(11, 23)
    .replace(/\.000$/, '')
    .replace(/:00$/, '');

/** A number of 64 bits from its decimal text. */
function longOfText(text: string): Long | undefined {
  const big = /^-?\d{1,19}$/.test(text) ? BigInt(text) : null;
  return big === null || BigInt.asIntN(64, big) !== big ? undefined : longOf(big);
}

const instantPattern = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:\.\d+)?)([Zz]|[+-]\d\d:\d\d)$/;

/** Decimal milliseconds stand only for what RFC 3339 cannot say: seconds in their place would be an instant of 1970. */
function instantOf(text: string): Long | undefined {
  const [, date, clock, zone] = instantPattern.exec(text) ?? [];
  if (date === undefined) {
    const ms = longOfText(text);
    return ms !== undefined && clampedMs(ms) !== ms ? ms : undefined;
  }
  const ms = parseDay(date) === null ? Number.NaN : Date.parse(`${date}T${clock}${zone!.toUpperCase()}`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** By a schema's logical type, else by its type. The others stand in JSON as they are. */
const forms: Partial<Record<string, Form>> = {
  // A lone surrogate has no UTF-8: another text would be published.
  string: textForm(
    'a text of whole Unicode characters',
    (text) => (text.isWellFormed() ? text : undefined),
    (text) => text,
  ),
  date: textForm('a date that exists, YYYY-MM-DD, from year 0001', (text) => parseDay(text) ?? undefined, dayText),
  'time-millis': textForm('a time of day, HH:MM, HH:MM:SS or HH:MM:SS.mmm', timeOf, timeText),
  'timestamp-millis': textForm('an instant with its offset, such as 2026-11-26T18:30:00Z', instantOf, (ms: Long) =>
    instantText(ms).replace('.000Z', 'Z'),
  ),
  long: {
    want: 'a whole number of 64 bits (beyond 2^53 as a decimal text)',
    read: (json) => (Number.isSafeInteger(json) ? json : typeof json === 'string' ? longOfText(json) : undefined),
    show: longInJson,
  },
  fixed: textForm(
    '32 bytes in hex',
    (text) => (/^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex') : undefined),
    (bytes: Buffer) => bytes.toString('hex'),
  ),
};

/** A type of Avro's whose values are those of JSON: avsc's walk over a schema reads and shows them. */
class JsonType extends avro.types.LogicalType {
  readonly form: Form;

  constructor(type: Type, form: Form) {
    super(type as unknown as Schema);
    this.form = form;
  }

  // avsc's own would look at the value with the type's check, too, which refuses longs beyond 2^53.
  _check(json: unknown, _flags: unknown, hook?: (json: unknown, type: Type) => void): boolean {
    const fits = this.form.read(json) !== undefined;
    if (!fits) hook?.(json, this);
    return fits;
  }

  protected override _toValue = (json: unknown): unknown => this.form.read(json);
  protected override _fromValue = (value: unknown): unknown => this.form.show(value as never);
  protected override _resolve = (): undefined => undefined;
  protected override _export = (): void => {};
}

function typeHook(schema: Schema): Type | undefined {
  const node = (typeof schema === 'string' ? { type: schema } : schema) as { type: string; logicalType?: string };
  const form = forms[node.logicalType ?? node.type];
  return form && new JsonType(parseOurs(node as Schema), form);
}

/** The types of each topic's values in JSON (docs/rules.md#json-lines). */
export const jsonTypes = byTopic((topic) =>
  avro.Type.forSchema(topicSchemas[topic], { wrapUnions: false, omitRecordMethods: true, typeHook }),
);

/** An object's members, none of which has another name than these. Throws LineError. */
export function membersOf(json: unknown, at: string, names: { has(name: string): boolean; keys(): Iterable<string> }) {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw off(at, json, 'an object');
  for (const name in json) {
    if (names.has(name)) continue;
    const want = [...names.keys()].join(', ');
    throw new LineError(`${at} has an unknown field ${JSON.stringify(name.slice(0, 64))}, want ${want}`);
  }
  return json as Record<string, unknown>;
}

/** What throws LineError for members of a type's records that it does not have: avsc passes over them. */
function unknownIn(type: Type): ((json: unknown, at: string) => void) | null {
  if (isUnion(type)) {
    const inner = unknownIn(type.types[1]!);
    return inner && ((json, at) => json == null || inner(json, at));
  }
  if (!isRecord(type)) return null;
  const fields = new Map(type.fields.map(({ name, type: of }) => [name, unknownIn(of)]));
  const nested = [...fields].filter(([, inner]) => inner !== null);
  return (json, at) => {
    const members = membersOf(json, at, fields);
    for (const [name, inner] of nested) inner!(members[name], name);
  };
}

export const assertKnownMembers = byTopic((topic) => unknownIn(jsonTypes[topic])!);

function wantOf(type: Type): string {
  if (isUnion(type)) return wantOf(type.types[1]!);
  if (type instanceof JsonType) return type.form.want;
  if (isEnum(type)) return `one of ${type.symbols.join(', ')}`;
  return isArray(type) ? 'a list' : isRecord(type) ? 'an object' : 'true or false';
}

/** Throws LineError that names the first field whose JSON is not what its type wants. */
export function throwFault(type: Type, json: unknown): never {
  type.isValid(json, {
    errorHook(path, at, of) {
      const name = path.join('.').replace(/\.(\d+)/g, '[$1]');
      throw off(name, at, wantOf(of));
    },
  });
  throw new Error('Cannot say what is wrong with a line: each field is what it must be');
}
