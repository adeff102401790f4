import { z } from 'zod';
import { sampleClientId } from '../tokens/access-token.ts';
import { clientAuthMethods, paths } from '../tokens/metadata.ts';
import { type ClientMetadata, clientProblem, isOnDevice } from './client-policy.ts';

const wantSecret = 'must be 32 to 512 ASCII characters without spaces';
const secretShape = z.string().regex(/^[!-~]{32,512}$/, wantSecret);

/** A client of the operator's file, with the member names of RFC 7591. */
const clientShape = z
  .strictObject({
    client_id: z.string().regex(/^[A-Za-z0-9._~-]{1,128}$/, 'must be 1 to 128 of the characters A-Z a-z 0-9 . _ ~ -'),
    // Two while it is changed. RFC 7591 has one.
    client_secret: z
      .union([secretShape, z.tuple([secretShape, secretShape])], `${wantSecret}, or a list of two such secrets`)
      .optional(),
    client_name: z.string().optional(),
    redirect_uris: z.array(z.string(), 'must be a list of URIs').min(1, 'must name at least one URI'),
    post_logout_redirect_uris: z.array(z.string(), 'must be a list of URIs').optional(),
    token_endpoint_auth_method: z.enum(clientAuthMethods, `must be one of ${clientAuthMethods.join(', ')}`).optional(),
    grant_types: z
      .array(z.enum(['authorization_code', 'refresh_token'], 'must be authorization_code or refresh_token'))
      .optional(),
    response_types: z.array(z.literal('code', 'must be code')).optional(),
    scope: z.literal('read', 'must be "read"').optional(),
    application_type: z.enum(['web', 'native'], 'must be web or native').optional(),
    skip_consent: z.boolean('must be true or false').optional(),
  })
  .check(({ value, issues }) => {
    const method = value.token_endpoint_auth_method;
    const secretNeeded = method !== 'none' && (method !== undefined || value.client_secret !== undefined);
    const complain = (member: string, message: string): void => {
      issues.push({ code: 'custom', path: [member], message, input: value });
    };
    if (secretNeeded && value.client_secret === undefined) complain('client_secret', `is missing: ${method} needs one`);
    if (method === 'none' && value.client_secret !== undefined)
      complain('client_secret', 'must not be there: a public client (token_endpoint_auth_method none) can’t keep one');
    // A program on the rider's device could receive the answers of another, and nobody would be asked (RFC 8252, 8.6).
    if (value.skip_consent && (value.application_type === 'native' || isOnDevice(value)))
      complain('skip_consent', 'needs a web client: let every redirect URI be https, and application_type be web');
    const problem = clientProblem(value);
    if (problem !== null) complain(problem.split(' ', 1)[0]!, problem.slice(problem.indexOf(' ') + 1));
  });

/** Ids of the service's own clients, and of the one that sample tokens name. */
const docsClientId = 'docs';
export const calendarClientId = 'calendar';
export const connectedAppsClientId = 'connected-apps';
export const ownIds = new Set<string>([docsClientId, calendarClientId, connectedAppsClientId, sampleClientId]);

/**
 * Reads OAUTH_CLIENTS: a JSON array of client metadata (RFC 7591). Clients with `client_secret` are confidential, the
 * others public. Throws an error that names every wrong entry and member, and never shows a secret.
 */
export function parseClients(text: string, where: string): ClientMetadata[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Told below: the parser's own message would quote the text, which contains secrets.
  }
  if (!Array.isArray(json)) throw new Error(`Cannot read ${where}: want a JSON array of client metadata (RFC 7591)`);
  const problems: string[] = [];
  const ids = new Set<string>();
  const clients: ClientMetadata[] = [];
  for (const [i, entry] of json.entries()) {
    const parsed = clientShape.safeParse(entry);
    const id = z.object({ client_id: z.string() }).safeParse(entry).data?.client_id;
    const name = `client ${i + 1}${id === undefined ? '' : ` (${JSON.stringify(id.slice(0, 128))})`}`;
    if (!parsed.success) problems.push(...parsed.error.issues.map((issue) => `${name}: ${memberProblem(issue)}`));
    if (id !== undefined && (ids.has(id) || ownIds.has(id)))
      problems.push(`${name}: client_id is taken; each client needs one of its own`);
    if (id !== undefined) ids.add(id);
    // RFC 7591's own default is for clients with a secret.
    const method = parsed.data?.client_secret === undefined ? 'none' : 'client_secret_basic';
    if (parsed.success) clients.push({ token_endpoint_auth_method: method, ...parsed.data });
  }
  if (problems.length > 0) throw new Error(`Cannot read ${where}: ${problems.join('; ')}`);
  return clients;
}

const memberProblem = ({ path, message }: z.core.$ZodIssue): string =>
  `${path.join('.')} ${message.charAt(0).toLowerCase()}${message.slice(1)}`.trim();

/**
 * The service's own clients: the reference at /docs, whose "Authorize" signs a rider in like any app; the page at
 * /calendar; and the page of connected apps, which only needs to know who the rider is and never redeems its code.
 */
export function ownClients(origin: string): ClientMetadata[] {
  const own = (client_id: string, client_name: string, path: string) => ({
    client_id,
    client_name,
    redirect_uris: [origin + path],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
  });
  return [
    own(docsClientId, 'Ride Calendar reference', '/docs/oauth2-redirect.html'),
    { ...own(calendarClientId, 'Ride Calendar', '/calendar'), post_logout_redirect_uris: [`${origin}/calendar`] },
    { ...own(connectedAppsClientId, 'Connected apps', paths.connectedApps), grant_types: ['authorization_code'] },
  ];
}
