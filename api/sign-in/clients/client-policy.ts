import { isLoopback } from '../../messages/service-url.ts';
import { clientAuthMethods } from '../tokens/metadata.ts';

/** Client metadata (RFC 7591), from the operator's file, a registration or a client's own document. */
export type ClientMetadata = Record<string, unknown>;

const nameLengthMax = 80;

// A reversed domain, such as com.example.app (RFC 8252, 7.1). Schemes that browsers and systems act on by themselves
// (javascript, smb, itms-services, x-apple.systempreferences) do not begin with a top-level domain and a dot.
const ownScheme = /^([a-z]{2,}|xn--[a-z0-9-]+)(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

/**
 * What this service refuses of any client, beyond oidc-provider's own checks: `member problem`, or null. Redirects go
 * to https, to this machine (RFC 8252) or to an app's own scheme. Names must not pretend to be something else on the
 * consent page.
 */
export function clientProblem(client: ClientMetadata): string | null {
  const ofName = client.client_name === undefined ? null : nameProblem(client.client_name);
  if (ofName !== null) return `client_name ${ofName}`;
  const method = client.token_endpoint_auth_method;
  // Of a client that signs with keys, oidc-provider would say no more than that they are missing, sent or not.
  if (method !== undefined && !clientAuthMethods.some((known) => known === method))
    return `token_endpoint_auth_method must be one of ${clientAuthMethods.join(', ')}`;
  for (const member of addressMembers)
    for (const uri of Array.isArray(client[member]) ? client[member] : []) {
      const problem = redirectProblem(String(uri));
      if (problem !== null) return `${member} ${problem}`;
    }
  return null;
}

// Where answers go, and where riders go on after signing out.
const addressMembers = ['redirect_uris', 'post_logout_redirect_uris'];

/**
 * Whether a program on the rider's device could receive this client's responses (RFC 8252, 8.6). Such a client is
 * native, whatever it says, and riders are asked for consent each time.
 */
export const isOnDevice = ({ redirect_uris: uris }: ClientMetadata): boolean =>
  Array.isArray(uris) && !uris.every((uri) => String(uri).startsWith('https:'));

function nameProblem(name: unknown): string | null {
  if (typeof name !== 'string' || name.trim() === '') return 'must be a text';
  if ([...name].length > nameLengthMax) return `must have at most ${nameLengthMax} characters`;
  // Control characters, characters that change the text direction, invisible letters, spaces that are not seen as such, and
  // combining marks piled up until they cover the lines around.
  return /(?![\ufe0e\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2000-\u200a\u202f\u205f\u2800]|\p{M}{4}/u.test(
    name,
  )
    ? 'must not have characters that can’t be seen, nor more than three marks on one'
    : null;
}

/** Why an address is refused as a redirect URI, or null (docs/rules.md#redirect-uris). */
export function redirectProblem(uri: string): string | null {
  const url = URL.parse(uri);
  if (!url) return 'must be absolute URIs';
  // Of `https:///x`, `https://a\@b` and `https://0x7f.1` each parser makes another address.
  if (url.href !== uri && url.href !== `${uri}/`)
    return 'must be spelled as URL parsers spell them: in ASCII, with the host in lower case, and without a default port or `..`';
  if (uri.includes('#')) return 'must not have a fragment';
  if (url.username !== '' || url.password !== '') return 'must not have a user or password';
  if (url.protocol === 'https:') return null;
  if (url.protocol === 'http:')
    return isLoopback(url.hostname) ? null : 'must be https, but for http on this machine’s own addresses';
  return ownScheme.test(url.protocol.slice(0, -1))
    ? null
    : 'must be https, or have a scheme that is a domain of the app’s makers in reverse order, such as com.example.app';
}

/**
 * A name as people see it: without case, spaces, punctuation, accents and styles of letters. 0 and o are one letter,
 * and so are 1, i, l and |.
 */
function asSeen(name: string): string {
  // NFKD makes letters of these two signs.
  const letters = name.replaceAll(/[™℠]/g, '').normalize('NFKD').toLowerCase().replaceAll('|', 'l');
  const seen = letters.replaceAll(/[^\p{L}\p{N}]/gu, '');
  return seen.replaceAll('0', 'o').replaceAll(/[1iı]/g, 'l');
}

// Cyrillic а, е and о cannot be told from Latin a, e and o. Where Chinese, Japanese and Korean are written, Latin
// letters stand beside others without a space.
const mixed =
  /(?=\S*\p{Script=Latin})\S*(?![\p{Script=Latin}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Common}\p{Script=Inherited}])\p{L}/u;

/**
 * Whether a client that introduced itself has the service's own name, or that of one of these clients, or mixes
 * alphabets in a word, so that it might look like one of them. Of a client without a name the id stands in for it.
 */
export function borrowedName(clients: readonly ClientMetadata[]): (client: ClientMetadata) => boolean {
  const names = clients.map(({ client_id: id, client_name: name }) => String(name ?? id));
  const taken = new Set(['Ride Calendar', ...names].map(asSeen));
  return ({ client_name: name }) => typeof name === 'string' && (taken.has(asSeen(name)) || mixed.test(name));
}

// What is left out has no meaning here (grant types: all clients have the same), or would make later requests fail
// (OpenID Connect's), or would make the service fetch any address (jwks_uri). RFC 7591 allows ignoring it.
const knownMembers = [
  'redirect_uris',
  'token_endpoint_auth_method',
  'application_type',
  'client_name',
  'post_logout_redirect_uris',
  // Refused later, with an error that says so.
  'skip_consent',
];

/** Keeps only the members of client metadata that have a meaning here; of addresses those that are texts. */
export function knownMetadata(given: ClientMetadata): ClientMetadata {
  const known = knownMembers.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]);
  const metadata: ClientMetadata = Object.fromEntries(known);
  for (const member of addressMembers)
    if (Array.isArray(metadata[member])) metadata[member] = metadata[member].filter((uri) => typeof uri === 'string');
  return metadata;
}
