/**
 * The interface's tables (docs/rules.md#fields-of-answers, #paths), written out by hand: what the OpenAPI document is
 * compared with. Not derived from any schema of the code. Descriptions and examples are left out.
 */

const rideId = { type: 'string', pattern: '^[a-z0-9]{4,32}$' };
const metroSlug = { type: 'string', pattern: '^[a-z0-9-]{2,32}$' };
const date = { type: 'string', format: 'date' };
const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const flag = { type: 'boolean' };
const count = { type: 'integer', minimum: 0 };
const link = { type: 'string', format: 'uri' };
const one = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const many = (name: string, bounds: object = {}) => ({ type: 'array', items: one(name), ...bounds });

/** Fields of every object, in the interface's order. All are required. */
export const fields: Record<string, Record<string, unknown>> = {
  Meeting: {
    withheld: flag,
    place_name: textOrNull,
    neighbourhood: textOrNull,
    neighbourhood_slug: { type: ['string', 'null'], pattern: '^[a-z0-9-]{1,80}$' },
  },
  Night: {
    ride: rideId,
    title: text,
    day: date,
    meet_time: { type: ['string', 'null'], pattern: '^[0-2][0-9]:[0-5][0-9]$' },
    time_zone: text,
    status: one('NightStatus'),
    cancellation_reason: textOrNull,
    past: flag,
    going_count: count,
    meeting: one('Meeting'),
    url: link,
  },
  Day: { metro: text, day: date, nights: many('Night') },
  Ride: {
    ride: rideId,
    title: text,
    description: textOrNull,
    type: text,
    metro: text,
    nights: many('Night'),
    url: link,
  },
  MyNight: { night: one('Night'), why: one('Why') },
  MyNights: { nights: many('MyNight'), flagged: many('FlaggedNight') },
  KnownName: { handle: text, name: textOrNull, flagged: flag },
  Known: { ride: rideId, day: date, known: count, names: many('KnownName', { maxItems: 2 }) },
  KnownNights: { nights: many('Known') },
  FlaggedRider: { handle: text, name: textOrNull },
  FlaggedNight: { ride: rideId, day: date, riders: many('FlaggedRider', { minItems: 1 }) },
  FlaggedNights: { nights: many('FlaggedNight') },
  Friend: { handle: text, name: textOrNull, close: flag, following: flag, flagged: flag },
  FriendNight: { night: one('Night'), friends: many('Friend', { minItems: 1 }) },
  FriendNights: { nights: many('FriendNight'), flagged: many('FlaggedNight') },
  Error: {
    error: one('ErrorCode'),
    input: textOrNull,
    detail: textOrNull,
  },
};

/** Allowed values, each set a component of its own. */
export const enums: Record<string, string[]> = {
  NightStatus: ['on', 'cancelled'],
  Why: ['led', 'going', 'ridden', 'saved'],
  ErrorCode: ['invalid_request', 'not_found', 'invalid_key'],
  DistanceBand: ['under_5', '5_to_10', '10_to_20', '20_to_40', 'over_40'],
  AudienceName: ['General', 'Family Friendly', '21+ Only'],
};

const inPath = (name: string, schema: object) => ({ name, in: 'path', required: true, schema });
const needed = (name: string, schema: object) => ({ name, in: 'query', required: true, schema });
const optional = (name: string, schema: object) => ({ name, in: 'query', required: false, schema });
const list = (name: string, items: object) => ({
  name,
  in: 'query',
  required: false,
  style: 'form',
  explode: false,
  schema: { type: 'array', items, uniqueItems: true, minItems: 1 },
});
const range = [needed('metro', metroSlug), needed('from', date), needed('to', date)];
interface Endpoint {
  name: string;
  parameters: object[];
  answer: object;
  /** Whether its metro or ride may be none. */
  finds?: true;
}

/** The endpoints, by path. */
export const endpoints: Record<string, Endpoint> = {
  '/openapi.json': { name: 'getOpenApi', parameters: [], answer: { type: 'object' } },
  '/metros/{metro}/days/{day}': {
    name: 'getDay',
    parameters: [
      inPath('metro', metroSlug),
      inPath('day', date),
      optional('q', { type: 'string', minLength: 2, maxLength: 200 }),
      list('far', one('DistanceBand')),
      list('who', one('AudienceName')),
      list('where', { type: 'string', pattern: '^[a-z0-9-]{1,80}$' }),
    ],
    answer: one('Day'),
    finds: true,
  },
  '/rides/{ride}': { name: 'getRide', parameters: [inPath('ride', rideId)], answer: one('Ride'), finds: true },
  '/me/nights': { name: 'getMyNights', parameters: [], answer: one('MyNights') },
  '/me/known': { name: 'getKnown', parameters: range, answer: one('KnownNights'), finds: true },
  '/me/friends': {
    name: 'getFriends',
    parameters: [...range, optional('close_friends_only', { type: 'boolean', default: false })],
    answer: one('FriendNights'),
    finds: true,
  },
  '/me/flagged': { name: 'getFlagged', parameters: range, answer: one('FlaggedNights'), finds: true },
};

/** The credentials of an endpoint. */
export function securityOf(path: string): object[] {
  if (path === '/openapi.json') return [];
  return path.startsWith('/me/') ? [{ signIn: ['read'] }] : [{ developerKey: [] }, { signIn: ['read'] }];
}

/** Statuses a GET of an endpoint may have; 408, 414, 431, 500 and 503 are problem details. */
export function statusesOf(path: string, { finds }: Endpoint): number[] {
  const needsStore = path !== '/openapi.json';
  const all = [200, 304, 400, needsStore && 401, finds && 404, 408, 414, 431, 500, needsStore && 503];
  return all.filter((status) => typeof status === 'number');
}
