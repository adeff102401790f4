import type * as z from 'zod';
import { type Inputs, type OperationName, operationInputs, rangeFault } from '../../schemas/interface/inputs.ts';
import { memoize } from '../messages/memoize.ts';
import { decodeAudiences, decodeQueryText, decodeText, pickParameters, type RawParameter } from '../messages/target.ts';

/** Checked inputs, or the name of the first wrong one with a reason that is constant for each kind of fault. */
export type InputsResult<O extends OperationName> =
  | { ok: true; inputs: Inputs<O> }
  | { ok: false; input: string; detail: string };

/** A parameter's value, or what is wrong with it. */
type Checked = { value: unknown } | { detail: string };

interface Parameter {
  name: string;
  /**
   * Checks a raw value. Memoized: clients send the same few values again and again, and a check costs as much as an
   * answer.
   */
  check: (raw: string) => Checked;
  /** The same where it is not sent. */
  absent: Checked;
}

interface Table {
  path: Parameter[];
  query: Parameter[];
  queryNames: string[];
  hasRange: boolean;
}

const tables = Object.fromEntries(
  Object.entries(operationInputs).map(([operation, { path, query }]) => [operation, tableOf(path.shape, query.shape)]),
) as Record<OperationName, Table>;

function tableOf(path: Record<string, z.ZodType>, query: Record<string, z.ZodType>): Table {
  return {
    path: Object.entries(path).map(([name, schema]) => parameter(name, schema, decodeText)),
    query: Object.entries(query).map(([name, schema]) =>
      parameter(name, schema, name === 'who' ? decodeAudiences : decodeQueryText),
    ),
    queryNames: Object.keys(query),
    hasRange: 'from' in query && 'to' in query,
  };
}

function parameter(name: string, schema: z.ZodType, decode: (raw: string) => string | null): Parameter {
  const absent = schema.safeParse(undefined);
  const fault = schema.safeParse('%').error?.issues[0];
  const isDate = fault?.code === 'invalid_format' && fault.format === 'date';
  // Text that cannot be decoded. For a date the detail is that of any text that is not a date.
  const undecodable = isDate ? fault.message : 'is not percent-encoded UTF-8';
  return {
    name,
    check: memoize((raw) => {
      const text = decode(raw);
      if (text === null) return { detail: undecodable };
      const result = schema.safeParse(text);
      if (result.success) return { value: result.data };
      return { detail: result.error.issues[0]!.message };
    }),
    absent: absent.success ? { value: absent.data } : { detail: 'is missing' },
  };
}

/**
 * Reads an operation's inputs from the raw path segments of its route and the raw query (without the question mark). If
 * any input is wrong, missing or repeated, the first one is named: path parameters, then the query in the interface's
 * order, then ranges (docs/rules.md#order-of-inputs). Never throws.
 */
export function readInputs<O extends OperationName>(
  operation: O,
  segments: readonly string[],
  query: string,
): InputsResult<O> {
  const table = tables[operation];
  const inputs: Record<string, unknown> = {};
  for (let i = 0; i < table.path.length; i++) {
    const detail = read(table.path[i]!, segments[i], inputs);
    if (detail !== null) return { ok: false, input: table.path[i]!.name, detail };
  }
  const raw = pickParameters(query, table.queryNames);
  for (let i = 0; i < table.query.length; i++) {
    const detail = read(table.query[i]!, raw[i], inputs);
    if (detail !== null) return { ok: false, input: table.query[i]!.name, detail };
  }
  if (table.hasRange) {
    const detail = rangeFault(inputs.from as string, inputs.to as string);
    if (detail !== null) return { ok: false, input: 'to', detail };
  }
  return { ok: true, inputs: inputs as Inputs<O> };
}

/** Puts a parameter's value into `inputs`. Returns what is wrong with it, or null. */
function read(parameter: Parameter, raw: RawParameter, inputs: Record<string, unknown>): string | null {
  if (raw === null) return 'is given more than once';
  const checked = raw === undefined ? parameter.absent : parameter.check(raw);
  if ('detail' in checked) return checked.detail;
  inputs[parameter.name] = checked.value;
  return null;
}
