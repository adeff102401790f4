import { wwwAuthenticate } from '../messages/refusals.ts';
import { serviceUrl } from '../messages/service-url.ts';
import { interfaceVersion, kindOf, type Operation, operations, scope } from './openapi-operations.ts';
import { componentHeaders, componentResponses, notModified, okResponse, shared } from './openapi-responses.ts';
import { componentSchemas, type Json, parametersOf } from './openapi-schemas.ts';

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
    info: information(origin),
    servers: [{ url: service.resource }],
    tags,
    paths: Object.fromEntries(operations.map((operation) => [operation.path, { get: operationObject(operation) }])),
    components: {
      schemas: componentSchemas(),
      headers: componentHeaders(wwwAuthenticate(service, false)),
      responses: componentResponses,
      securitySchemes: securitySchemes(origin),
    },
  };
}

function operationObject(operation: Operation): Json {
  const { name, tag, summary, description, answer } = operation;
  const { security, caching, refusals } = kindOf(operation);
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

function information(origin: string): Json {
  return {
    title: 'Ride Calendar',
    version: interfaceVersion,
    summary: 'A calendar of group bike rides, to read.',
    description: [
      'A ride repeats on dates; one date of one ride is a **night**. Calendars are organised by **metro**, a region with a time zone.',
      'The calendar itself is public to holders of a developer key, sent as `X-Api-Key`: it tells how many are going, never who. ' +
        'A rider who signs in (OAuth 2.1, authorization code with PKCE) can also read their own nights, and which of their friends and of the riders they flagged are going.',
      'Everything is read with GET, and HEAD; any other method is answered 405 with `Allow`. Every 200 has an `ETag`: send it back as `If-None-Match` and an unchanged answer is a 304 without a body. Calendar answers are compressed where `Accept-Encoding` takes zstd, br or gzip. ' +
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

// docs/rules.md#openapi-security
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
