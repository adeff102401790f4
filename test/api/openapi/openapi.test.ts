import { describe, expect, it } from 'vitest';
import { readInputs } from '../../../api/calendar/read-inputs.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import * as answers from '../../../schemas/interface/answers.ts';
import type { OperationName } from '../../../schemas/interface/inputs.ts';
import { json, startHttpService } from '../../support/processes/http-service.ts';
import { publicOperations, riderOperations } from '../../support/worlds/small-world.ts';
import { endpoints, enums, fields, securityOf, statusesOf } from './interface-tables.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as a reader would, without types of ours.
type Any = any;

const document: Any = JSON.parse(JSON.stringify(openApiDocument('https://rides.example.org/calendar/api/')));

/** A copy without descriptions and examples. */
function bare(value: Any): Any {
  if (Array.isArray(value)) return value.map(bare);
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value).filter(([key]) => key !== 'description' && key !== 'example');
  return Object.fromEntries(kept.map(([key, inner]) => [key, bare(inner)]));
}

const resolve = (value: Any): Any =>
  value?.$ref
    ? value.$ref
        .slice(2)
        .split('/')
        .reduce((at: Any, key: string) => at[key], document)
    : value;

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

// docs/rules.md#openapi-document, #version, #paths, #openapi-schemas
it('the document is of version 3.1.0, describes version 2.1.0 of seven paths, and names its server', () => {
  expect(document.openapi).toBe('3.1.0');
  expect(document.info.version).toBe('2.1.0');
  expect(document.servers).toEqual([{ url: 'https://rides.example.org/calendar/api' }]);
  const bareOrigin: Any = openApiDocument('http://127.0.0.1:8080/');
  expect(bareOrigin.servers).toEqual([{ url: 'http://127.0.0.1:8080' }]);
  expect(JSON.stringify(bareOrigin)).toContain('/.well-known/oauth-protected-resource\\"');
  expect(Object.keys(document.paths).sort()).toEqual(Object.keys(endpoints).sort());
  for (const path of Object.keys(endpoints)) expect(Object.keys(document.paths[path])).toEqual(['get']);
  expect(Object.keys(document.components.schemas).sort()).toEqual(
    [...Object.keys(fields), ...Object.keys(enums), 'Problem'].sort(),
  );
  // A client must not refuse fields that it does not know.
  expect(JSON.stringify(document)).not.toMatch(/additionalProperties|9007199254740991|\$schema|\$id|anyOf/);
});

// docs/rules.md#openapi-schemas, #fields-of-answers
it.each(Object.keys(fields))('component %s has exactly the fields of the interface, described, in order', (name) => {
  const { type, properties, required, description } = document.components.schemas[name];
  const bared = Object.entries(properties).map(([field, { description: _, ...rest }]: Any) => [field, rest]);
  expect(bared).toEqual(Object.entries(fields[name]!));
  expect([type, required]).toEqual(['object', Object.keys(fields[name]!)]);
  for (const text of [description, ...Object.values<Any>(properties).map((field) => field.description)])
    expect(text).toMatch(/\.$/);
});

// docs/rules.md#openapi-schemas
it('each set of allowed values is a component of its own, with a description, and none is inline', () => {
  for (const [name, values] of Object.entries(enums))
    expect(document.components.schemas[name]).toMatchObject({
      enum: values,
      description: expect.stringMatching(/\.$/),
    });
  expect(JSON.stringify(document).match(/"enum":/g)).toHaveLength(Object.keys(enums).length);
});

// Generators name types and files after schemas, and some languages and disks know no case.
it('no two schemas have names that differ in case alone', () => {
  const names = Object.keys(document.components.schemas).map((name) => name.toLowerCase());
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});

// docs/rules.md#openapi-operations, #paths
describe.each(Object.entries(endpoints))('%s', (path, endpoint) => {
  const { name, parameters, answer } = endpoint;
  const { operationId, summary, description, tags, ...operation } = document.paths[path].get;
  const responses = Object.entries<Any>(operation.responses).map(([status, response]) => [status, resolve(response)]);

  // docs/rules.md#openapi-lists
  it('takes the credentials and parameters of the interface, and answers as it says', () => {
    expect(operationId).toBe(name);
    expect([summary.length > 0, description.length > 0, tags.length]).toEqual([true, true, 1]);
    expect(operation.security).toEqual(securityOf(path));
    expect(bare(operation.parameters ?? [])).toEqual(parameters);
    expect(operation.responses[200].content['application/json'].schema).toEqual(answer);
    expect(Object.keys(operation.responses).map(Number)).toEqual(statusesOf(path, endpoint));
  });

  it('documents the headers of each answer', () => {
    const isEncoded = !path.startsWith('/me/');
    for (const [status, { headers }] of responses) {
      const wanted = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers', 'Cache-Control'];
      if (status === '200' || status === '304') wanted.push('ETag', ...(isEncoded ? ['Vary'] : []));
      if (status === '401') wanted.push('WWW-Authenticate');
      if (status === '503') wanted.push('Retry-After');
      expect([status, Object.keys(headers).sort()]).toEqual([status, wanted.sort()]);
    }
  });

  it('tells refusals as Error, failures as Problem, and a rider without a live token nothing', () => {
    for (const [status, { content = {} }] of responses) {
      const told = Object.entries<Any>(content).map(([type, { schema }]) => [type, schema.$ref?.split('/').at(-1)]);
      const refused = [['application/json', 'Error']];
      const failed = [['application/problem+json', 'Problem']];
      if (status === '304' || (status === '401' && path.startsWith('/me/'))) expect(told).toEqual([]);
      // Whatever takes no inputs refuses only what is no HTTP.
      else if (status === '400') expect(told).toEqual(parameters.length > 0 ? [...refused, ...failed] : failed);
      else if (status === '401' || status === '404') expect(told).toEqual(refused);
      else if (status !== '200') expect(told).toEqual(failed);
    }
  });

  it('has examples that its own checks accept, of inputs and of answers', () => {
    const examples: Any[] = operation.parameters ?? [];
    const segments = examples.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.example);
    const query = examples
      .filter((parameter) => parameter.in === 'query')
      .map((parameter) => `${parameter.name}=${encodeURIComponent(String(parameter.example))}`)
      .join('&');
    const wanted = Object.fromEntries(examples.map((parameter) => [parameter.name, parameter.example]));
    expect(readInputs(name as OperationName, segments, query)).toEqual({ ok: true, inputs: wanted });
    for (const [, { content = {} }] of responses) {
      for (const { schema, example } of Object.values<Any>(content)) {
        const component = schema.$ref?.split('/').at(-1);
        if (component === undefined) expect(typeof example).toBe('object');
        else expect(answerTypes[component]!.safeParse(example).error?.message).toBeUndefined();
      }
    }
  });
});

it('answers of the service are as their schemas say', async () => {
  const service = await startHttpService();
  for (const { name, path, headers } of [...publicOperations, ...riderOperations]) {
    const { answer }: Any = Object.values(endpoints).find((endpoint) => endpoint.name === name);
    const parsed = answerTypes[answer.$ref.split('/').at(-1)]!.safeParse(json(await service.ask(path, headers)));
    expect([name, parsed.error?.message]).toEqual([name, undefined]);
  }
  await service.close();
});

// docs/rules.md#openapi-security
it('credentials are a developer key and signing in at this origin, whose metadata a 401 names', () => {
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
  expect(document.components.headers.WWWAuthenticate.example).toBe(
    'Bearer resource_metadata="https://rides.example.org/.well-known/oauth-protected-resource/calendar/api", scope="read"',
  );
});
