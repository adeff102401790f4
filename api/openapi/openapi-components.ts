import * as z from 'zod';
import { answerRegistry } from '../../schemas/interface/answers.ts';
import { type OperationName, operationInputs } from '../../schemas/interface/inputs.ts';
import {
  errorContentType,
  invalidKeyBody,
  invalidRequest,
  noSuchMetroBody,
  noSuchRideBody,
  problemContentType,
  problems,
} from '../messages/refusals.ts';
import { bodyExample, parameterExamples } from './openapi-examples.ts';

/** The schemas, parameters, headers and responses that operations are made of (docs/rules.md#openapi-operations). */

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

const parameters = (place: 'path' | 'query', shape: Record<string, z.ZodType>): Json[] =>
  Object.entries(shape).map(([name, type]) => {
    const { description, ...schema } = bare(z.toJSONSchema(type, { io: 'output', override: oursOrComponent }));
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

interface Overridden {
  zodSchema: z.core.$ZodType;
  jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** zod copies the descriptions of fields by itself, but not those of the registry's objects. */
function described(context: Overridden): void {
  ours(context);
  const description = answerRegistry.get(context.zodSchema)?.description;
  if (context.jsonSchema.type !== undefined && description !== undefined) context.jsonSchema.description = description;
}

/** For parameters, which are converted one by one: zod makes references only within a registry. */
function oursOrComponent(context: Overridden): void {
  ours(context);
  const id = answerRegistry.get(context.zodSchema)?.id;
  if (id === undefined) return;
  for (const key of Object.keys(context.jsonSchema)) delete context.jsonSchema[key];
  context.jsonSchema.$ref = componentRef(id);
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
  }
}

/** Without the parts that belong to a stand-alone schema document. */
function bare(schema: z.core.JSONSchema.BaseSchema): Json {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  return rest;
}

const text = (description: string, example: string): Json => ({
  description,
  required: true,
  schema: { type: 'string' },
  example,
});

/** `challenge`: the value of WWW-Authenticate when no token was sent. */
export function componentHeaders(challenge: string): Record<string, Json> {
  return {
    ETag: text('Strong; send it back as `If-None-Match` to be answered 304 while nothing has changed.', '"q8Zx1v0s-3"'),
    PublicCacheControl: text('Any cache may keep it, and asks again before each use.', 'public, no-cache'),
    CalendarCacheControl: text(
      'Only the client itself may keep it, no shared cache: for `max-age` seconds where given, else it asks again before each use.',
      'private, no-cache',
    ),
    RiderCacheControl: text("A rider's own answers are not kept.", 'private, no-store'),
    NoStore: text('Not to be kept.', 'no-store'),
    Vary: text(
      'The answer depends on the credentials that were sent, and on the encodings that the request takes.',
      'Authorization, X-Api-Key, Accept-Encoding',
    ),
    VaryByEncoding: text('The answer depends on the encodings that the request takes.', 'Accept-Encoding'),
    WWWAuthenticate: text(
      "Names the resource's metadata (RFC 9728). With `error` if a token was sent: it is not live.",
      challenge,
    ),
    RetryAfter: {
      description: 'Seconds to wait.',
      required: true,
      schema: { type: 'integer', minimum: 0 },
      example: 1,
    },
    AccessControlAllowOrigin: text('Pages of every origin may read this.', '*'),
    AccessControlExposeHeaders: text('The headers that such pages may read.', 'ETag, WWW-Authenticate, Retry-After'),
  };
}

const header = (name: string): Json => ({ $ref: `#/components/headers/${name}` });

const cors = {
  'Access-Control-Allow-Origin': header('AccessControlAllowOrigin'),
  'Access-Control-Expose-Headers': header('AccessControlExposeHeaders'),
};

/** Who may cache an answer, and for how long. */
export type Caching = 'public' | 'calendar' | 'rider';

const cacheHeaders: Record<Caching, Json> = {
  public: { 'Cache-Control': header('PublicCacheControl'), Vary: header('VaryByEncoding') },
  calendar: { 'Cache-Control': header('CalendarCacheControl'), Vary: header('Vary') },
  rider: { 'Cache-Control': header('RiderCacheControl') },
};

const cached = (description: string, caching: Caching): Json => ({
  description,
  headers: { ETag: header('ETag'), ...cacheHeaders[caching], ...cors },
});

// Content-Encoding is left out: mocks would send it with a body that is not compressed.
export const okResponse = (description: string, schema: Json, example: unknown, caching: Caching): Json => ({
  ...cached(description, caching),
  content: { 'application/json': { schema, example } },
});

export const notModified = (caching: Caching): Json =>
  cached('Nothing has changed since the answer whose ETag was sent as `If-None-Match`. No body.', caching);

/** A refusal or failure. `more`: headers besides those of each. */
function refusal(description: string, content: Json | null, more: Json = {}): Json {
  return {
    description,
    headers: { 'Cache-Control': header('NoStore'), ...more, ...cors },
    ...(content && { content }),
  };
}

const errorContent = (body: Buffer): Json => ({
  [errorContentType]: { schema: { $ref: componentRef('Error') }, example: bodyExample(body) },
});

const problemContent = ({ body }: { body: Buffer }): Json => ({
  [problemContentType]: { schema: { $ref: componentRef('Problem') }, example: bodyExample(body) },
});

const challenge = { 'WWW-Authenticate': header('WWWAuthenticate') };

export const componentResponses = {
  InvalidRequest: refusal(
    'A parameter is missing or invalid; `input` names it, the first one of several. Or a request that is not well-formed HTTP, as problem details.',
    {
      ...errorContent(invalidRequest('day', 'is not a date, YYYY-MM-DD')),
      ...problemContent(problems.malformed),
    },
  ),
  Malformed: refusal('The request is not well-formed HTTP.', problemContent(problems.malformed)),
  InvalidKey: refusal(
    "No live developer key and no rider's sign-in token. The same for a missing, unknown or deleted key.",
    errorContent(invalidKeyBody),
    challenge,
  ),
  NoLiveToken: refusal('No live token for this resource. No body.', null, challenge),
  NoSuchMetro: refusal('No such metro.', errorContent(noSuchMetroBody)),
  NoSuchRide: refusal('No such posted ride.', errorContent(noSuchRideBody)),
  RequestTimeout: refusal('The request did not arrive in time.', problemContent(problems.requestTimeout)),
  UriTooLong: refusal('The URL is too long: up to 8,000 bytes are read.', problemContent(problems.targetTooLong)),
  HeadersTooLarge: refusal('The header fields are too large.', problemContent(problems.headersTooLarge)),
  InternalError: refusal('Something went wrong in the service.', problemContent(problems.internal)),
  Unavailable: refusal('The calendar cannot be read just now.', problemContent(problems.unavailable), {
    'Retry-After': header('RetryAfter'),
  }),
} satisfies Record<string, Json>;

export const shared = (name: keyof typeof componentResponses): Json => ({ $ref: `#/components/responses/${name}` });
