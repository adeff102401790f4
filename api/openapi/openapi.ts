import { readFileSync } from 'node:fs';
import { type OperationName, operationPaths } from '../../schemas/interface/inputs.ts';
import { wwwAuthenticate } from '../messages/refusals.ts';
import { serviceUrl } from '../messages/service-url.ts';
import {
  type Caching,
  componentHeaders,
  componentRef,
  componentResponses,
  componentSchemas,
  type Json,
  notModified,
  okResponse,
  parametersOf,
  shared,
} from './openapi-components.ts';
import { answerExamples } from './openapi-examples.ts';

/** The interface's version (docs/rules.md#version). It rises when the contract grows. */
const interfaceVersion = '2.1.0';

/** The one scope there is. */
const scope = 'read';

/** What operations of one tag have in common, such as who may ask (docs/rules.md#openapi-security). */
const kinds = {
  Interface: { security: [], caching: 'public', refusals: {} },
  Calendar: {
    security: [{ developerKey: [] }, { signIn: [scope] }],
    caching: 'calendar',
    refusals: { 401: shared('InvalidKey') },
  },
  Rider: { security: [{ signIn: [scope] }], caching: 'rider', refusals: { 401: shared('NoLiveToken') } },
} satisfies Record<string, { security: Json[]; caching: Caching; refusals: Json }>;

interface Operation {
  tag: keyof typeof kinds;
  summary: string;
  description: string;
  answer: { schema: Json; description: string; example: unknown };
}

const answer = (name: keyof typeof answerExamples, description: string) => ({
  schema: { $ref: componentRef(name) },
  description,
  example: answerExamples[name],
});

const rangeWords = '`to` may be `from` itself, and is at most 31 days after it.';

/** The seven operations (docs/rules.md#paths). */
const operations: Record<OperationName, Operation> = {
  getOpenApi: {
    tag: 'Interface',
    summary: 'This description',
    description: 'The OpenAPI 3.1 description of this interface. Needs no credential.',
    answer: {
      schema: { type: 'object' },
      description: 'The description.',
      example: { openapi: '3.1.0', info: { title: 'Ride Calendar', version: interfaceVersion }, paths: {} },
    },
  },
  getDay: {
    tag: 'Calendar',
    summary: "One day of a metro's calendar",
    description:
      'The nights of one day, by meet time, with those without one last. Within one filter any item is enough; all filters ' +
      'must hold. Cancelled nights stay listed.',
    answer: answer('Day', 'The day; a day without nights has an empty list.'),
  },
  getRide: {
    tag: 'Calendar',
    summary: 'One ride and the dates it meets',
    description: 'A posted ride by its public id, with all of its nights: past, coming and cancelled.',
    answer: answer('Ride', 'The ride.'),
  },
  getMyNights: {
    tag: 'Rider',
    summary: 'Your nights, and why each is yours',
    description:
      'The nights from 30 days ago to 90 days ahead that the rider led, is going to, rode or saved. Beside them: the riders they flagged who are going to these nights.',
    answer: answer('MyNights', "The rider's nights."),
  },
  getKnown: {
    tag: 'Rider',
    summary: 'How many riders you follow are going, night by night',
    description:
      'For each night in the range that somebody is going to whom the reader follows: how many, and up to two names, close friends ' +
      `first. Only riders who are followed count: a close friend who is not followed is in \`/me/friends\` alone. ${rangeWords}`,
    answer: answer('KnownNights', 'The nights that somebody is going to whom the reader follows.'),
  },
  getFriends: {
    tag: 'Rider',
    summary: 'Nights that your friends are going to',
    description:
      'Friends are the riders whom the reader follows, and those they marked as close friends. Nights with a close friend ' +
      `come first; within a night, close friends come first. ${rangeWords}`,
    answer: answer('FriendNights', 'The nights that friends are going to.'),
  },
  getFlagged: {
    tag: 'Rider',
    summary: 'Nights that riders you flagged are going to',
    description:
      'The nights in the range that flagged riders are going to, with these riders. It is for marking the nights of the public ' +
      `calendar, which carries no flags. ${rangeWords}`,
    answer: answer('FlaggedNights', 'The nights that flagged riders are going to.'),
  },
};

/**
 * The OpenAPI 3.1 document of the interface (docs/rules.md#openapi-document). It is made from the zod schemas that
 * check requests and, in tests, answers. `baseUrl` is BASE_URL: an absolute URL. Its origin is also the authorization
 * server's.
 */
export function openApiDocument(baseUrl: string): object {
  const service = serviceUrl(baseUrl);
  const { origin } = service;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Ride Calendar',
      version: interfaceVersion,
      summary: 'A calendar of group bike rides, to read.',
      description: description.replaceAll('{origin}', origin).replaceAll('{resource}', service.resource),
      contact: { name: 'Ride Calendar', url: `${origin}/docs` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: service.resource }],
    tags: [
      { name: 'Calendar', description: 'What anybody with a developer key, or signed in, can read.' },
      {
        name: 'Rider',
        description: 'What only a signed-in rider can read. *You* and *the reader* are that rider.',
      },
      { name: 'Interface', description: 'The interface about itself.' },
    ],
    paths: Object.fromEntries(
      (Object.keys(operations) as OperationName[]).map((name) => [
        operationPaths[name],
        { get: operationObject(name) },
      ]),
    ),
    components: {
      schemas: componentSchemas(),
      headers: componentHeaders(wwwAuthenticate(service, false)),
      responses: componentResponses,
      securitySchemes: securitySchemes(origin),
    },
  };
}

function operationObject(name: OperationName): Json {
  const { tag, summary, description, answer } = operations[name];
  const { security, caching, refusals } = kinds[tag];
  const parameters = parametersOf(name);
  const takes = (input: string): boolean => parameters.some((parameter) => parameter.name === input);
  return {
    operationId: name,
    tags: [tag],
    summary,
    description,
    security,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: {
      200: okResponse(answer.description, answer.schema, answer.example, caching),
      304: notModified(caching),
      400: shared(parameters.length > 0 ? 'InvalidRequest' : 'Malformed'),
      ...refusals,
      ...(takes('metro') && { 404: shared('NoSuchMetro') }),
      ...(takes('ride') && { 404: shared('NoSuchRide') }),
      408: shared('RequestTimeout'),
      414: shared('UriTooLong'),
      431: shared('HeadersTooLarge'),
      500: shared('InternalError'),
      // The document is made without the store, so it is never unavailable.
      ...(name === 'getOpenApi' ? {} : { 503: shared('Unavailable') }),
    },
  };
}

/** What no operation says by itself, for whoever has nothing but the base URL: a client's developer. */
const description = readFileSync(new URL('docs/description.md', import.meta.url), 'utf8').trimEnd();

// docs/rules.md#openapi-security
function securitySchemes(origin: string): Json {
  return {
    developerKey: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Api-Key',
      description:
        'A developer key. Create it in your account at the ride-management website, under developer keys. It is shown once.',
    },
    signIn: {
      type: 'oauth2',
      description: 'A rider signs in, and lets an app read for them. Whoever runs this service registers the app.',
      flows: {
        authorizationCode: {
          authorizationUrl: `${origin}/oauth/authorize`,
          tokenUrl: `${origin}/oauth/token`,
          refreshUrl: `${origin}/oauth/token`,
          scopes: {
            [scope]:
              "Read the calendar, the rider's nights, which of their friends are going, and any flagged riders who are going.",
          },
        },
      },
    },
  };
}
