import type { OperationName } from '../schemas/inputs.ts';
import {
  dayExample,
  flaggedNightsExample,
  friendNightsExample,
  knownNightsExample,
  myNightsExample,
  rideExample,
} from './openapi-examples.ts';
import {
  type Caching,
  componentHeaders,
  componentResponses,
  notModified,
  okResponse,
  shared,
} from './openapi-responses.ts';
import { componentRef, componentSchemas, type Json, parametersOf } from './openapi-schemas.ts';

/** The interface's version (INTERFACE, Versioning): rises when the contract grows. */
export const interfaceVersion = '2.1.0';

/** The one scope there is. */
const scope = 'read';

const eitherCredential = [{ developerKey: [] }, { signIn: [scope] }];
const signInOnly = [{ signIn: [scope] }];

interface Operation {
  path: string;
  name: OperationName;
  tag: string;
  summary: string;
  description: string;
  security: Json[];
  caching: Caching;
  answer: { schema: Json; description: string; example: unknown };
  /** What it may answer beside 200, 304 and the failures that any request can meet. */
  refusals: Json;
}

const answer = (name: string, description: string, example: unknown) => ({
  schema: { $ref: componentRef(name) },
  description,
  example,
});

const metroRefusals = {
  400: shared('InvalidRequest'),
  401: shared('NoLiveToken'),
  404: shared('NoSuchMetro'),
};

const rangeWords = 'The range is at most 31 days: `to` is neither before `from` nor more than 31 days after it.';

/** The seven operations (INTERFACE, Endpoints). */
const operations: readonly Operation[] = [
  {
    path: '/openapi.json',
    name: 'getOpenApi',
    tag: 'Interface',
    summary: 'This description',
    description: 'The OpenAPI 3.1 description of this interface. Needs no credential.',
    security: [],
    caching: 'public',
    answer: {
      schema: { type: 'object' },
      description: 'The description.',
      example: { openapi: '3.1.0', info: { title: 'Ride Calendar', version: interfaceVersion }, paths: {} },
    },
    refusals: {},
  },
  {
    path: '/metros/{metro}/days/{day}',
    name: 'getDay',
    tag: 'Calendar',
    summary: "One day of a metro's calendar",
    description:
      'The nights of one day, with filters: any of the items within one filter, all of the filters across them. ' +
      'Cancelled nights stay listed.',
    security: eitherCredential,
    caching: 'calendar',
    answer: answer('Day', 'The day; a day without nights has an empty list.', dayExample),
    refusals: { 400: shared('InvalidRequest'), 401: shared('InvalidKey'), 404: shared('NoSuchMetro') },
  },
  {
    path: '/rides/{ride}',
    name: 'getRide',
    tag: 'Calendar',
    summary: 'One ride and the dates it meets',
    description: 'A posted ride with every night its page lists, by its public id.',
    security: eitherCredential,
    caching: 'calendar',
    answer: answer('Ride', 'The ride.', rideExample),
    refusals: { 400: shared('InvalidRequest'), 401: shared('InvalidKey'), 404: shared('NoSuchRide') },
  },
  {
    path: '/me/nights',
    name: 'getMyNights',
    tag: 'Rider',
    summary: "The rider's nights and why each is theirs",
    description: "Nights from 30 days ago to 90 days ahead, as the rider's own calendar shows them.",
    security: signInOnly,
    caching: 'rider',
    answer: answer('MyNights', "The rider's nights.", myNightsExample),
    refusals: { 401: shared('NoLiveToken') },
  },
  {
    path: '/me/known',
    name: 'getKnown',
    tag: 'Rider',
    summary: 'The riders the rider follows among the people going, night by night',
    description: `For each night in the range on which somebody the rider follows is going: how many, and up to two names. ${rangeWords}`,
    security: signInOnly,
    caching: 'rider',
    answer: answer('KnownNights', 'The nights somebody the rider follows is going to.', knownNightsExample),
    refusals: metroRefusals,
  },
  {
    path: '/me/friends',
    name: 'getFriends',
    tag: 'Rider',
    summary: "The rides the rider's friends are going to, night by night",
    description:
      'Friends are the riders the rider follows plus those the rider marked close. Nights with a close friend come ' +
      `first; within a night, close friends come first. ${rangeWords}`,
    security: signInOnly,
    caching: 'rider',
    answer: answer('FriendNights', 'The nights friends are going to.', friendNightsExample),
    refusals: metroRefusals,
  },
  {
    path: '/me/flagged',
    name: 'getFlagged',
    tag: 'Rider',
    summary: 'The nights a rider the rider flagged is going to',
    description:
      'The nights in the range where a flagged rider said going or confirmed, with those riders. Made for marking ' +
      `the public calendar's nights, which carry no flags. ${rangeWords}`,
    security: signInOnly,
    caching: 'rider',
    answer: answer('FlaggedNights', 'The nights flagged riders are going to.', flaggedNightsExample),
    refusals: metroRefusals,
  },
];

/**
 * The OpenAPI 3.1 document of the interface, made from the zod schemas that requests and tests are held to.
 * `baseUrl` is BASE_URL: an absolute URL, whose origin is the authorization server too.
 */
export function openApiDocument(baseUrl: string): object {
  const server = baseUrl.replace(/\/+$/, '');
  const { origin, pathname } = new URL(server);
  const metadata = `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
  return {
    openapi: '3.1.0',
    info: information(origin),
    servers: [{ url: server, description: 'This service.' }],
    tags,
    paths: Object.fromEntries(operations.map((operation) => [operation.path, { get: operationObject(operation) }])),
    components: {
      schemas: componentSchemas(),
      headers: componentHeaders(`Bearer resource_metadata="${metadata}", scope="${scope}"`),
      responses: componentResponses,
      securitySchemes: securitySchemes(origin),
    },
  };
}

function operationObject({ name, tag, summary, description, security, caching, answer, refusals }: Operation): Json {
  const parameters = parametersOf(name);
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
      ...refusals,
      414: shared('UriTooLong'),
      431: shared('HeadersTooLarge'),
      500: shared('InternalError'),
      // The description is made without the store, and so never unavailable.
      ...(name === 'getOpenApi' ? {} : { 503: shared('Unavailable') }),
    },
  };
}

function information(origin: string): Json {
  return {
    title: 'Ride Calendar',
    version: interfaceVersion,
    summary: 'A calendar of group bike rides, to read.',
    description: [
      'A ride repeats on dates; one date of one ride is a **night**. Calendars are organised by **metro**, a region with a time zone.',
      'The calendar itself is public to holders of a developer key, sent as `X-Api-Key`: it tells how many are going, never who. ' +
        'A rider who signs in (OAuth 2.1, authorization code with PKCE) can also read their own nights, and which of their friends and of the riders they flagged are going.',
      'Everything is read with GET, and HEAD; any other method is answered 405 with `Allow`. Every 200 has an `ETag`: send it back as `If-None-Match` and an unchanged answer is a 304 without a body. ' +
        'Unknown query parameters are ignored, and the contract only grows within a major version: ignore fields you do not know.',
    ].join('\n\n'),
    contact: { name: 'Ride Calendar', url: `${origin}/docs` },
    license: { name: 'MIT', identifier: 'MIT' },
  };
}

const tags = [
  { name: 'Calendar', description: 'What anybody with a developer key, or signed in, can read.' },
  { name: 'Rider', description: "The signed-in rider's own layer." },
  { name: 'Interface', description: 'The interface about itself.' },
];

function securitySchemes(origin: string): Json {
  return {
    developerKey: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Api-Key',
      description: 'A developer key, made in your account under developer keys and shown once.',
    },
    signIn: {
      type: 'oauth2',
      description: 'A rider signs in at this service and lets an application read for them.',
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
