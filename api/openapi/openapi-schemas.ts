import * as z from 'zod';
import { answerRegistry } from '../../schemas/interface/answers.ts';
import { type OperationName, operationInputs } from '../../schemas/interface/inputs.ts';
import { parameterExamples } from './openapi-examples.ts';

/** A piece of an OpenAPI document. */
export type Json = { [key: string]: unknown };

/** The answers' schemas as OpenAPI components, by name. */
export function componentSchemas(): Record<string, Json> {
  const { schemas } = z.toJSONSchema(answerRegistry, { uri: componentRef, override: described });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, bare(schema)]));
}

export const componentRef = (name: string): string => `#/components/schemas/${name}`;

/** An operation's parameters, in the order of the interface (docs/rules.md#openapi-lists). */
export function parametersOf(operation: OperationName): Json[] {
  const { path, query } = operationInputs[operation];
  return [...parameters('path', path.shape), ...parameters('query', query.shape)];
}

function parameters(place: 'path' | 'query', shape: Record<string, z.ZodType>): Json[] {
  return Object.entries(shape).map(([name, type]) => {
    const { description, ...schema } = bare(z.toJSONSchema(type, { io: 'output', override: ours }));
    return {
      name,
      in: place,
      description,
      required: !type.safeParse(undefined).success,
      ...(schema.type === 'array' ? { style: 'form', explode: false } : {}),
      schema,
      example: parameterExamples[name],
    };
  });
}

interface Overridden {
  zodSchema: z.core.$ZodType;
  jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** zod copies the descriptions of fields by itself, but not those of the registry's objects. */
function described(context: Overridden): void {
  ours(context);
  const description = answerRegistry.get(context.zodSchema)?.description;
  if (context.jsonSchema.type === 'object' && description !== undefined) context.jsonSchema.description = description;
}

/** zod's JSON Schema adjusted to the interface: only the interface's bounds, open objects, null as one more type. */
function ours({ jsonSchema: schema }: Pick<Overridden, 'jsonSchema'>): void {
  // The contract grows, so a client must accept fields that it does not know.
  delete schema.additionalProperties;
  if (schema.format === 'date') delete schema.pattern;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  const [first, second, ...more] = schema.anyOf ?? [];
  if (first?.type !== undefined && second?.type === 'null' && more.length === 0) {
    delete schema.anyOf;
    Object.assign(schema, first, { type: [first.type, 'null'] });
    if (schema.enum) schema.enum = [...schema.enum, null];
  }
}

/** Without the parts that belong to a stand-alone schema document. */
function bare(schema: z.core.JSONSchema.BaseSchema): Json {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  return rest;
}
