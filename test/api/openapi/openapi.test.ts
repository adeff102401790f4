import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { ZodType } from 'zod';
import { readInputs } from '../../../api/calendar/read-inputs.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import * as answers from '../../../schemas/interface/answers.ts';
import { json, startHttpService } from '../../support/processes/http-service.ts';
import { publicOperations, riderOperations } from '../../support/worlds/small-world.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as a reader would, without types of ours.
type Any = any;

const document: Any = JSON.parse(JSON.stringify(openApiDocument('https://rides.example.org/calendar/api/')));

/** A copy without words and examples. A property may be named `description`: its value is no text. */
function bare(value: Any): Any {
  if (Array.isArray(value)) return value.map(bare);
  if (value === null || typeof value !== 'object') return value;
  const kept = Object.entries(value).filter(
    ([key, inner]) => key !== 'example' && !(/^(description|summary)$/.test(key) && typeof inner === 'string'),
  );
  return Object.fromEntries(kept.map(([key, inner]) => [key, bare(inner)]));
}

/**
 * All that the document says to programs: paths, parameters, statuses, headers, fields in their order, bounds, credentials. Within
 * a major version it only grows. A change that keeps to that is made there too.
 */
// docs/rules.md#openapi-document, #version, #paths, #openapi-schemas, #openapi-lists, #openapi-operations, #openapi-security, #fields-of-answers
it('the document is that of the release, but for its words', () => {
  const released = readFileSync(new URL('../../data/released-interface.json', import.meta.url), 'utf8');
  expect(bare(document)).toEqual(JSON.parse(released));
  // The order of fields too.
  expect(JSON.stringify(bare(document))).toBe(JSON.stringify(JSON.parse(released)));
});

// docs/rules.md#openapi-schemas
it('a client is given no schema that refuses fields, none that differs in case alone, and words for each', () => {
  // Generators name types and files after schemas, and some languages and disks know no case.
  const names = Object.keys(document.components.schemas).map((name) => name.toLowerCase());
  expect(new Set(names).size).toBe(names.length);
  expect(JSON.stringify(document)).not.toMatch(/additionalProperties|9007199254740991|\$schema|\$id|anyOf/);
  for (const { description, properties = {} } of Object.values<Any>(document.components.schemas))
    for (const text of [description, ...Object.values<Any>(properties).map((field) => field.description)])
      expect(text).toMatch(/\.$/);
});

const resolve = (value: Any): Any =>
  value.$ref
    ?.slice(2)
    .split('/')
    .reduce((at: Any, key: string) => at[key], document) ?? value;

/** Components that are answered whole. */
const answerTypes: Record<string, ZodType> = {
  Day: answers.calendarDay,
  Ride: answers.ride,
  MyNights: answers.myNights,
  KnownNights: answers.knownNights,
  FriendNights: answers.friendNights,
  FlaggedNights: answers.flaggedNights,
  Error: answers.errorAnswer,
  Problem: answers.problem,
};
const operations = Object.values<Any>(document.paths).map(({ get }) => get);

// docs/rules.md#openapi-operations
it.each(operations)(
  '$operationId has words, and examples that its own checks accept, of inputs and of answers',
  (of) => {
    const { operationId, summary, description, parameters = [], responses } = of;
    expect(`${summary} ${description}`).toMatch(/\w+ .*\.$/s);
    const ofPlace = (place: string): Any[] => parameters.filter((parameter: Any) => parameter.in === place);
    const segments = ofPlace('path').map(({ example }) => example);
    const query = ofPlace('query').map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`);
    const wanted = Object.fromEntries(parameters.map(({ name, example }: Any) => [name, example]));
    expect(readInputs(operationId, segments, query.join('&'))).toEqual({ ok: true, inputs: wanted });
    for (const { content = {} } of Object.values<Any>(responses).map(resolve))
      for (const { schema, example } of Object.values<Any>(content)) {
        const component = schema.$ref?.split('/').at(-1);
        if (component === undefined) expect(typeof example).toBe('object');
        else expect(answerTypes[component]!.safeParse(example).error?.message).toBeUndefined();
      }
  },
);

it('its words name the limits that hold', () => {
  const wordsOf = (path: string): string => document.paths[path].get.description;
  expect(wordsOf('/me/nights')).toContain('from 30 days ago to 90 days ahead');
  expect(wordsOf('/me/known')).toContain('up to two names');
  for (const name of ['known', 'friends', 'flagged']) expect(wordsOf(`/me/${name}`)).toContain('at most 31 days after');
  const { ErrorCode, MyNights } = document.components.schemas;
  expect(MyNights.properties.nights.description).toContain('from 30 days ago to 90 days ahead');
  const codes = 'invalid_request comes with status 400, not_found with 404, invalid_key with 401.';
  expect(ErrorCode.description).toBe(codes);
  expect(document.components.responses.UriTooLong.description).toContain('up to 8,000 bytes');
  expect(document.components.headers.RetryAfter.example).toBe(1);
  for (const words of [
    ...["curl -H 'X-Api-Key: <your key>' https://rides.example.org/calendar/api/metros/", 'in the header `X-Api-Key`'],
    ...['lives ten minutes', 'at most 31 days after `from`', 'at most 8,000 bytes', 'rides.example.org/docs shows'],
    ...['from 30 days before to 90 days after', 'of 1 kB or more', 'ask again after `Retry-After` seconds'],
  ])
    expect(document.info.description).toContain(words);
});

it('answers of the service are as their schemas and headers say', async () => {
  const service = await startHttpService();
  for (const { name, path, headers } of [...publicOperations, ...riderOperations]) {
    const { responses } = operations.find(({ operationId }) => operationId === name);
    const component = responses[200].content['application/json'].schema.$ref.split('/').at(-1);
    const answer = await service.ask(path, headers);
    const parsed = answerTypes[component]!.safeParse(json(answer));
    expect([name, parsed.error?.message]).toEqual([name, undefined]);
    const { ETag, ...constant } = responses[200].headers;
    for (const [field, header] of Object.entries<Any>(constant))
      expect([field, answer.headers[field.toLowerCase()]]).toEqual([field, resolve(header).example]);
  }
});
