import { isLoopback } from '../../messages/service-url.ts';

/** Client metadata (RFC 7591), from the operator's file, a registration or a client's own document. */
export type ClientMetadata = Record<string, unknown>;

const redirectUrisMax = 10;
const redirectUriLengthMax = 2000;
const nameLengthMax = 80;

// A reversed domain, such as com.example.app (RFC 8252, 7.1). Schemes that browsers and systems act on by themselves
// (javascript, smb, itms-services, x-apple.systempreferences) do not begin with a top-level domain and a dot.
const ownScheme = /^([a-z]{2,}|xn--[a-z0-9-]+)(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

// URLs allow more characters in a host. A semicolon or comma would end a directive of a page's content security policy.
const hostShape = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)$/;

// RFC 3986, without a fragment: the authority and the path. URL parsers also accept addresses such as `https:///x`,
// `https:x` and `https://a\@b`, each parser in its own way.
const pchars = "(?:[\\w.~!$&'()*+,;=:@/-]|%[\\dA-Fa-f]{2})*";
const strictly = new RegExp(
  `^[A-Za-z][A-Za-z0-9+.-]*:(?://((?:[\\w.~!$&'()*+,;=:@[\\]-]|%[\\dA-Fa-f]{2})*)(?=[/?]|$))?(${pchars})(?:\\?(?:${pchars}|\\?)*)?$`,
);

/**
 * What this service refuses of any client, beyond oidc-provider's own checks: `member problem`, or null. Redirects go
 * to https, to this machine (RFC 8252) or to an app's own scheme. Names must not pretend to be something else on the
 * consent page.
 */
export function clientProblem(metadata: ClientMetadata): string | null {
  return nameProblem(metadata.client_name) ?? redirectsProblem(metadata);
}

/**
 * The type of a client: native if it says so or is on the rider's device, else `web`, OpenID Connect's default
 * (Registration, 2).
 */
export function applicationType(client: ClientMetadata): unknown {
  return isOnDevice(client) ? 'native' : (client.application_type ?? 'web');
}

/**
 * Whether a program on the rider's device could receive this client's responses (RFC 8252, 8.6). Such a client is
 * native, whatever it says, and riders are asked for consent each time.
 */
export function isOnDevice({ redirect_uris: uris }: ClientMetadata): boolean {
  return Array.isArray(uris) && !uris.every((uri) => /^https:/i.test(String(uri)));
}

function nameProblem(name: unknown): string | null {
  if (name === undefined) return null;
  if (typeof name !== 'string' || name.trim() === '') return 'client_name must be a text';
  if ([...name].length > nameLengthMax) return `client_name must have at most ${nameLengthMax} characters`;
  // Control characters, characters that change the text direction, and unassigned ones.
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u.test(name)) return 'client_name must not have control characters';
  // Invisible letters, and combining marks piled up until they cover the lines around.
  if (/(?![\ufe0e\ufe0f])[\p{Default_Ignorable_Code_Point}\u2800]|\p{M}{4}/u.test(name))
    return 'client_name must not have characters that can’t be seen, nor more than three marks on one';
  return null;
}

function redirectsProblem({ redirect_uris: uris }: ClientMetadata): string | null {
  if (!Array.isArray(uris)) return null;
  if (uris.length > redirectUrisMax) return `redirect_uris must have at most ${redirectUrisMax} members`;
  for (const uri of uris) {
    const problem = typeof uri === 'string' ? redirectProblem(uri) : 'must be a text';
    if (problem !== null) return `redirect_uris ${problem}`;
  }
  return null;
}

/** Why an address is refused as a redirect URI, or null (docs/rules.md#redirect-uris). */
export function redirectProblem(uri: string): string | null {
  if (uri.length > redirectUriLengthMax) return `must have at most ${redirectUriLengthMax} characters each`;
  if (!/^[!-~]+$/.test(uri)) return 'must be of printable ASCII';
  const url = URL.parse(uri);
  if (!url) return 'must be absolute URIs';
  if (uri.includes('#')) return 'must not have a fragment';
  const [, authority, path] = strictly.exec(uri) ?? [];
  if (path === undefined) return 'must be URIs as RFC 3986 has them';
  if (authority?.includes('@')) return 'must not have a user or password';
  const scheme = url.protocol.slice(0, -1);
  if (/^https?$/.test(scheme) && !hostShape.test(url.hostname))
    return 'must have hosts of letters, digits, dots and hyphens';
  if (/^https?$/.test(scheme) && !isReadAlike(url, authority, path))
    return 'must spell out their host and path: URL parsers read this address in two ways';
  if (scheme === 'https') return null;
  if (scheme === 'http')
    return isLoopback(url.hostname) ? null : 'must be https, but for http on this machine’s own addresses';
  return ownScheme.test(scheme)
    ? null
    : 'must be https, or have a scheme that is a domain of the app’s makers in reverse order, such as com.example.app';
}

/** Whether a URL parser gets the host and path that the text has: not of `https://0x7f.1` and `https://a/b/../c`. */
function isReadAlike({ hostname, pathname }: URL, authority: string | undefined, path: string): boolean {
  const host = authority?.replace(/:\d*$/, '').toLowerCase();
  return host !== '' && host === hostname && (path || '/') === pathname && !/%2e/i.test(path);
}

// What is left out has no meaning here, or would make later requests fail (OpenID Connect's), or would make the service
// fetch any address (jwks_uri). RFC 7591 allows ignoring it.
const knownMembers = [
  'redirect_uris',
  'token_endpoint_auth_method',
  'grant_types',
  'response_types',
  'application_type',
  'client_name',
  'scope',
  // Refused later, with an error that says so.
  'skip_consent',
];

// Clients list all that they can do, wherever they register. What is not offered here is dropped (RFC 7591, 2).
const offered: Record<string, { needed: string; all: readonly string[] }> = {
  grant_types: { needed: 'authorization_code', all: ['authorization_code', 'refresh_token'] },
  response_types: { needed: 'code', all: ['code'] },
};

/**
 * Keeps only the members of client metadata that have a meaning here, and of lists only what is offered. A list without
 * the value that every client needs is kept, so that the client is refused.
 */
export function knownMetadata(given: ClientMetadata): ClientMetadata {
  const kept = (name: string): unknown => {
    const [value, offer] = [given[name], offered[name]];
    return offer && Array.isArray(value) && value.includes(offer.needed)
      ? value.filter((each) => offer.all.includes(each))
      : value;
  };
  const client = Object.fromEntries(
    knownMembers.filter((name) => given[name] !== undefined).map((name) => [name, kept(name)]),
  );
  return { ...client, application_type: applicationType(client) };
}
