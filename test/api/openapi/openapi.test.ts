import { describe, expect, it } from 'vitest';
import { readInputs } from '../../../api/calendar/read-inputs.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import * as answers from '../../../schemas/interface/answers.ts';
import type { OperationName } from '../../../schemas/interface/inputs.ts';
import { endpoints, fields } from './interface-tables.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as a reader would, without types of ours.
type Any = any;

const document: Any = JSON.parse(JSON.stringify(openApiDocument('https://rides.example.org/calendar/api/')));
const operation = (path: string): Any => document.paths[path].get;

/** A copy without descriptions and examples. */
function bare(value: Any): Any {
  if (Array.isArray(value)) return value.map(bare);
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'description' && key !== 'example');
  return Object.fromEntries(kept.map(([key, inner]) => [key, bare(inner)]));
}

const withoutDescription = ({ description: _, ...rest }: Any): Any => rest;

const resolve = (value: Any): Any =>
  value?.$ref === undefined
    ? value
    : value.$ref
        .slice(2)
        .split('/')
        .reduce((at: Any, key: string) => at[key], document);

/** Components that are answered whole. */
const answerTypes: Record<string, { safeParse(value: unknown): { error?: { message: string } | undefined } }> = {
  Day: answers.calendarDay,
  Ride: answers.ride,
  MyNights: answers.myNights,
  KnownNights: answers.knownNights,
  FriendNights: answers.friendNights,
  FlaggedNights: answers.flaggedNights,
  Error: answers.errorAnswer,
  Problem: answers.problem,
};

describe('the OpenAPI document', () => {
  // docs/rules.md#openapi-document, #version
  it('is of version 3.1.0, describes version 2.1.0, and names this server without a slash at its end', () => {
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('2.1.0');
    expect(document.servers.map((server: Any) => server.url)).toEqual(['https://rides.example.org/calendar/api']);
  });

  it('names a server on a bare origin too', () => {
    const bareOrigin: Any = openApiDocument('http://127.0.0.1:8080/');
    expect(bareOrigin.servers[0].url).toBe('http://127.0.0.1:8080');
    expect(JSON.stringify(bareOrigin)).toContain('/.well-known/oauth-protected-resource\\"');
  });

  // docs/rules.md#paths
  it("has the interface's seven paths, each with GET alone", () => {
    expect(Object.keys(document.paths).sort()).toEqual(Object.keys(endpoints).sort());
    for (const path of Object.keys(endpoints)) expect(Object.keys(document.paths[path])).toEqual(['get']);
  });

  it("has components of the interface's names, and one for problem details", () => {
    expect(Object.keys(document.components.schemas).sort()).toEqual([...Object.keys(fields), 'Problem'].sort());
  });

  // docs/rules.md#openapi-schemas
  it('tells a reader nowhere to refuse what it does not know', () => {
    expect(JSON.stringify(document)).not.toContain('additionalProperties');
    expect(JSON.stringify(document)).not.toMatch(/9007199254740991|\$schema|\$id|anyOf/);
  });

  it('is the same document each time', () => {
    const again = openApiDocument('https://rides.example.org/calendar/api');
    expect(JSON.stringify(again)).toBe(JSON.stringify(document));
  });
});

// docs/rules.md#openapi-schemas, #fields-of-answers
describe.each(Object.keys(fields))('component %s', (name) => {
  const schema = document.components.schemas[name];

  it('has exactly the fields of the interface, in its order, of its types and bounds', () => {
    const properties = Object.entries(schema.properties).map(([field, type]) => [field, withoutDescription(type)]);
    expect(properties).toEqual(Object.entries(fields[name]!));
    expect(schema.type).toBe('object');
  });

  it('requires every field', () => {
    expect(schema.required).toEqual(Object.keys(fields[name]!));
  });

  it('is described, field by field', () => {
    expect(schema.description).toMatch(/\.$/);
    for (const type of Object.values<Any>(schema.properties)) expect(type.description).toMatch(/\.$/);
  });
});

// docs/rules.md#openapi-operations, #paths
describe.each(Object.entries(endpoints))('%s', (path, endpoint) => {
  const { name, security, parameters, answer, statuses } = endpoint;

  it('is named, summarised, described and tagged', () => {
    const { operationId, summary, description, tags } = operation(path);
    expect(operationId).toBe(name);
    expect([summary.length > 0, description.length > 0, tags.length]).toEqual([true, true, 1]);
  });

  it('takes the credentials of the interface', () => {
    expect(operation(path).security).toEqual(security);
  });

  // docs/rules.md#openapi-lists
  it('takes the parameters of the interface, in its order', () => {
    expect(bare(operation(path).parameters ?? [])).toEqual(parameters);
  });

  it('answers as the interface says', () => {
    const { 200: ok } = operation(path).responses;
    expect(ok.content['application/json'].schema).toEqual(answer);
  });

  it('has an answer for each status it may have, and no other', () => {
    const documented = Object.keys(operation(path).responses).map(Number);
    expect(documented).toEqual(statuses);
  });

  it('documents the headers of each answer', () => {
    const publicRead = name === 'getDay' || name === 'getRide';
    for (const [status, response] of Object.entries(operation(path).responses)) {
      const wanted = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers', 'Cache-Control'];
      const isEncoded = publicRead || name === 'getOpenApi';
      if (status === '200' || status === '304') wanted.push('ETag', ...(isEncoded ? ['Vary'] : []));
      if (status === '200' && isEncoded) wanted.push('Content-Encoding');
      if (status === '401') wanted.push('WWW-Authenticate');
      if (status === '503') wanted.push('Retry-After');
      expect([status, Object.keys(resolve(response).headers).sort()]).toEqual([status, wanted.sort()]);
    }
  });

  it('tells refusals as Error, failures as Problem, and a rider without a live token nothing', () => {
    const hasInputs = parameters.length > 0;
    for (const [status, response] of Object.entries(operation(path).responses)) {
      const content = Object.entries<Any>(resolve(response).content ?? {});
      const told = content.map(([type, { schema }]) => [type, schema.$ref?.split('/').at(-1)]);
      const refused = [['application/json', 'Error']];
      const failed = [['application/problem+json', 'Problem']];
      if (status === '304' || (status === '401' && path.startsWith('/me/'))) expect(told).toEqual([]);
      // Whatever takes no inputs refuses only what is no HTTP.
      else if (status === '400') expect(told).toEqual(hasInputs ? [...refused, ...failed] : failed);
      else if (status === '401' || status === '404') expect(told).toEqual(refused);
      else if (status !== '200') expect(told).toEqual(failed);
    }
  });

  it('has examples that its own checks accept', () => {
    const examples: Any[] = operation(path).parameters ?? [];
    const segments = examples.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.example);
    const query = examples
      .filter((parameter) => parameter.in === 'query')
      .map((parameter) => `${parameter.name}=${encodeURIComponent(String(parameter.example))}`)
      .join('&');
    const wanted = Object.fromEntries(examples.map((parameter) => [parameter.name, parameter.example]));
    expect(readInputs(name as OperationName, segments, query)).toEqual({ ok: true, inputs: wanted });
  });

  it('has examples of answers that are exactly such answers', () => {
    const checked = Object.values<Any>(operation(path).responses).flatMap((response) =>
      Object.values<Any>(resolve(response).content ?? {}).map(({ schema, example }) => {
        const component = schema.$ref?.split('/').at(-1);
        if (component === undefined) return typeof example;
        return answerTypes[component]!.safeParse(example).error?.message ?? 'fits';
      }),
    );
    expect(new Set(checked)).toEqual(new Set(path === '/openapi.json' ? ['object', 'fits'] : ['fits']));
  });
});

// docs/rules.md#openapi-security
describe('security schemes', () => {
  it('are a developer key and signing in at this origin', () => {
    expect(bare(document.components.securitySchemes)).toEqual({
      developerKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
      signIn: {
        type: 'oauth2',
        flows: {
          authorizationCode: {
            authorizationUrl: 'https://rides.example.org/oauth/authorize',
            tokenUrl: 'https://rides.example.org/oauth/token',
            refreshUrl: 'https://rides.example.org/oauth/token',
            scopes: { read: expect.any(String) },
          },
        },
      },
    });
  });

  it("a 401 names the resource's metadata", () => {
    expect(document.components.headers.WWWAuthenticate.example).toBe(
      'Bearer resource_metadata="https://rides.example.org/.well-known/oauth-protected-resource/calendar/api", scope="read"',
    );
  });
});
