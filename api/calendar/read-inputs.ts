import * as z from 'zod';
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
  /** Checks a raw value. Memoized: clients send the same few values, and a check costs as much as an answer. */
  check: (raw: string) => Checked;
  /** The same where it is not sent, and where it is sent more than once. */
  absent: Checked;
  repeated: Checked;
}

/** An operation's parameters in the order in which they are checked: first those of its path, then its query's. */
const tables = Object.fromEntries(
  Object.entries(operationInputs).map(([operation, { path, query }]) => [operation, tableOf(path.shape, query.shape)]),
) as Record<OperationName, { parameters: Parameter[]; queryNames: string[] }>;

function tableOf(path: Record<string, z.ZodType>, query: Record<string, z.ZodType>) {
  const parameters = [
    ...Object.entries(path).map(([name, schema]) => parameter(name, schema, decodeText)),
    ...Object.entries(query).map(([name, schema]) =>
      parameter(name, schema, name === 'who' ? decodeAudiences : decodeQueryText),
    ),
  ];
  return { parameters, queryNames: Object.keys(query) };
}

function parameter(name: string, schema: z.ZodType, decode: (raw: string) => string | null): Parameter {
  const absent = schema.safeParse(undefined);
  const fault = schema.safeParse('%').error?.issues[0];
  const isList = z.toJSONSchema(schema, { io: 'output' }).type === 'array';
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
    // Many HTTP clients repeat a list's parameter unless told otherwise (docs/rules.md#lists).
    repeated: { detail: `is given more than once${isList ? ': send one value with commas' : ''}` },
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
  const { parameters, queryNames } = tables[operation];
  const raws: RawParameter[] = [...segments, ...pickParameters(query, queryNames)];
  const inputs: Record<string, unknown> = {};
  for (const [i, { name, check, absent, repeated }] of parameters.entries()) {
    const raw = raws[i];
    const checked = raw === null ? repeated : raw === undefined ? absent : check(raw);
    if ('detail' in checked) return { ok: false, input: name, detail: checked.detail };
    inputs[name] = checked.value;
  }
  if ('to' in inputs) {
    const detail = rangeFault(inputs.from as string, inputs.to as string);
    if (detail !== null) return { ok: false, input: 'to', detail };
  }
  return { ok: true, inputs: inputs as Inputs<O> };
}
