import { describe, expect, test } from 'vitest';
import { borrowedName, clientProblem, redirectProblem } from '../../../../api/sign-in/clients/client-policy.ts';
import { isSecretOf, withHashedSecret } from '../../../../api/sign-in/clients/client-secrets.ts';
import { clientName, documentHost, redirectWords } from '../../../../api/sign-in/clients/client-words.ts';
import { parseClients } from '../../../../api/sign-in/clients/clients.ts';

const secret = 'a secret of at least 32 characters'.replaceAll(' ', '-');
const web = { client_id: 'site', redirect_uris: ['https://site.example/cb'], client_secret: secret };
const open = { client_id: 'open', redirect_uris: web.redirect_uris };
const parse = (...clients: unknown[]) => parseClients(JSON.stringify(clients), 'OAUTH_CLIENTS clients.json');

describe('clients of the file', () => {
  test('are public without a secret, and confidential with one', () => {
    const app = { client_id: 'app', redirect_uris: ['com.example.app:/cb', 'http://127.0.0.1/cb'] };
    expect(parse(web, app, { ...web, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' })).toEqual([
      { ...web, token_endpoint_auth_method: 'client_secret_basic' },
      { ...app, token_endpoint_auth_method: 'none' },
      { ...web, client_id: 'post', token_endpoint_auth_method: 'client_secret_post' },
    ]);
    expect(parse({ ...web, skip_consent: true })).toMatchObject([{ skip_consent: true }]);
    parse({ ...web, client_id: 'x', client_secret: 'x'.repeat(32) });
    parse({ ...web, client_id: 'x'.repeat(128), client_secret: 'x'.repeat(512) });
    expect(parse()).toEqual([]);
  });

  test.each([
    ['with a wrong id', { ...web, client_id: 'a b' }, /client 1 \("a b"\): client_id must be 1 to 128/],
    ['with a long id', { ...web, client_id: 'x'.repeat(129) }, /client 1 \("x{128}"\): client_id must be 1 to 128/],
    ...['docs', 'calendar', 'connected-apps', 'sample'].map((id): [string, object, RegExp] => [
      `with an id of the service, ${id}`,
      { ...web, client_id: id },
      RegExp(`client 1 ."${id}".: client_id is taken`),
    ]),
    ['without addresses', { ...web, redirect_uris: [] }, /client 1 \("site"\): redirect_uris must name/],
    ['with a member nobody knows', { ...web, jwks_uri: 'x' }, /client 1 \("site"\): unrecognized key: "jwks_uri"/],
    [
      'with a short second secret',
      { ...web, client_secret: [secret, 'hush'.padEnd(31, '!')] },
      /client_secret.1 must be 32 to 512/,
    ],
    ['with a long secret', { ...web, client_secret: `${'hush'.repeat(128)}!` }, /client_secret must be 32 to 512/],
    ['with a space in its secret', { ...web, client_secret: `hush ${secret}` }, /client_secret must be 32 to 512/],
    ['with three secrets', { ...web, client_secret: [secret, secret, secret] }, /or a list of two such/],
    ['that needs a secret', { ...open, token_endpoint_auth_method: 'client_secret_post' }, /client_secret is missing/],
    ['that is public and has one', { ...web, token_endpoint_auth_method: 'none' }, /client_secret must not be there/],
    ['with another scope', { ...web, scope: 'write' }, /scope must be "read"/],
    ['for tokens without a code', { ...web, response_types: ['token'] }, /response_types.0 must be code/],
    [
      'for passwords',
      { ...web, grant_types: ['password'] },
      /grant_types.0 must be authorization_code or refresh_token/,
    ],
    ['with keys', { ...web, token_endpoint_auth_method: 'private_key_jwt' }, /token_endpoint_auth_method must be one/],
    [
      'that skips consent on a rider’s device',
      { ...web, redirect_uris: ['https://site.example/cb', 'http://127.0.0.1/cb'], skip_consent: true },
      /client 1 \("site"\): skip_consent needs a web client: let every redirect URI be https/,
    ],
    [
      'that skips consent and is native',
      { ...web, application_type: 'native', skip_consent: true },
      /needs a web client/,
    ],
  ])('%s: the error names the file, the entry and the member', (_, client, message) => {
    // A second fault is told of with the first.
    const wrong = () => parse(client, web, { ...web, scope: 'x' });
    expect(wrong).toThrow(message);
    expect(wrong).toThrow(/^Cannot read OAUTH_CLIENTS clients.json: .*[\s\S]*client 3 \("site"\): client_id is taken/);
    expect(wrong).not.toThrow(/hush|a-secret/);
  });

  test('may have two secrets, and each is accepted', () => {
    const [client] = parse({ ...web, client_secret: [`${secret}-1`, `${secret}-2`] });
    const { client_id, client_secret } = withHashedSecret(client!);
    const accepts = (given: string) => isSecretOf(String(client_id), given, String(client_secret));
    const given = [`${secret}-1`, `${secret}-2`, secret, '', String(client_secret)];
    expect(given.map(accepts)).toEqual([true, true, false, false, false]);
    // A hash is of one client's secret alone.
    expect(isSecretOf('other', given[0]!, String(client_secret))).toBe(false);
  });

  test.each(['[{"client_secret": "hush', '{"a": "hush"}'])(
    'that are no list are refused without a quote: %s',
    (text) => {
      const wrong = () => parseClients(text, 'OAUTH_CLIENTS c');
      expect(wrong).toThrow(/^Cannot read OAUTH_CLIENTS c: want a JSON array of client metadata(?!.*hush)/s);
    },
  );
});

// docs/rules.md#redirect-uris
describe('a redirect URI', () => {
  test.each([
    ...['https://a.example/cb?x=1', 'https://[2001:db8::1]:8443/cb', 'https://a.example', 'xn--p1ai.example:/cb'],
    ...['http://[::1]:1/cb', 'http://localhost:3000/cb', 'com.example.my-app://cb', 'https://a.example/%C3%A4?x=%2F..'],
  ])('%s is fine', (uri) => expect(redirectProblem(uri)).toBeNull());
  test.each([
    ...['http://a.example/cb', 'http://127.0.0.1.evil.example/', 'http://0.0.0.0/cb', 'javascript:alert(1)', '/cb', ''],
    ...['data:text/html,x', 'https://user@a.example/cb', 'https://:secret@a.example/cb', 'com.example.app://me@cb'],
    // Systems act on these by themselves, and no app owns a name without a domain (RFC 8252, 7.1).
    ...['smb://evil.example/share', 'x-apple.systempreferences:x', 'a.example:/cb', 'com..example:/cb'],
    // Of these, URL parsers make one address, and who reads the text another.
    ...['https:///x', 'https:/a.example/cb', String.raw`https://evil.example\@good.example/`, 'https://@a.example/cb'],
    ...[String.raw`https://a.example/cb\x`, 'https://%61.example/cb', 'https://0x7f.1/cb', 'https://ä.example/'],
    ...['https://A.example/cb', 'https://a.example:443/cb', 'https://a.example/x/../cb', 'https://a.example/<script>'],
    'https://a.example/cb#',
  ])('%s is refused', (uri) => expect(redirectProblem(uri)).not.toBeNull());
});

test.each<[string | null, unknown[]]>([
  [null, ['Radausflüge 🚲', 'I ❤️ rides', 'Chạy xe đêm', 'רכיבה', 'a\u0323\u0302\u0301', '🚲'.repeat(80)]],
  ['characters that can’t be seen', ['Ride\u202eradnelaC', 'a\nb', 'a\ue000', 'a\ud800', '\u3164', 'a\u034f']],
  ['characters that can’t be seen', ['a\u2028', 'a\u2029', 'a\u2003b', 'a\u202fb', 'a\u2800']],
  ['three marks', [`a${'\u0301'.repeat(4)}`]],
  ['must be a text', [' ', 7]],
  ['at most 80', ['x'.repeat(81)]],
])('a client cannot have a name that deceives: %s', (problem, names) => {
  for (const client_name of names) {
    const found = clientProblem({ client_name });
    expect([client_name, found]).toEqual([client_name, problem && expect.stringContaining(problem)]);
  }
});

test('a client that introduces itself has a name of its own', () => {
  const isBorrowed = borrowedName([{ client_id: 'site', client_name: 'Portland Rides' }, { client_id: 'night-rider' }]);
  const borrowed = [
    ...['RIDE-CALENDAR!', 'Ridé  Cálendar', '𝓡𝓲𝓭𝓮 Calendar', 'portland rides 🚲', 'Night Rider', 'Ride Calendar™'],
    // The last two have a Cyrillic and a Greek letter.
    ...['Rlde Ca1endar', 'R|de Calendar', 'Rıde Calendar', 'p0rtland rides', 'Ridе Club', 'Pοrtland Club'],
  ];
  for (const client_name of borrowed) expect([client_name, isBorrowed({ client_name })]).toEqual([client_name, true]);
  const own = ['Ride Calendar Helper', 'Яндекс GO', 'Ποδήλατο 2', 'LINEで自転車', 'LINEバイク', '자전거app', undefined];
  for (const client_name of own) expect([client_name, isBorrowed({ client_name })]).toEqual([client_name, false]);
});

// docs/rules.md#consent
test.each([
  ['https://a.example:8443/cb?x=1', 'a.example:8443', 'a.example:8443'],
  ['http://[::1]:1/cb', 'an app on this device', null],
  ['com.example.app:/cb', 'an app on this device (com.example.app://)', null],
])('where answers to %s go is said as %j', (uri, words, host) => {
  expect([redirectWords(uri), documentHost({ clientId: uri })]).toEqual([words, host]);
});

test('an app without a name is called so', () => expect(clientName({})).toBe('Unnamed app'));
