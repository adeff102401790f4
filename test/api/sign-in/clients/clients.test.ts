import { describe, expect, test } from 'vitest';
import { clientProblem, redirectProblem } from '../../../../api/sign-in/clients/client-policy.ts';
import { isSecretOf, withHashedSecret } from '../../../../api/sign-in/clients/client-secrets.ts';
import { parseClients } from '../../../../api/sign-in/clients/clients.ts';

const secret = 'a secret of at least 32 characters'.replaceAll(' ', '-');
const web = { client_id: 'site', redirect_uris: ['https://site.example/cb'], client_secret: secret };
const parse = (...clients: unknown[]) => parseClients(JSON.stringify(clients), 'OAUTH_CLIENTS clients.json');

describe('clients of the file', () => {
  test('are public without a secret, confidential with one, and web or native by their addresses', () => {
    expect(parse(web, { client_id: 'app', redirect_uris: ['com.example.app:/cb', 'http://127.0.0.1/cb'] })).toEqual([
      { ...web, token_endpoint_auth_method: 'client_secret_basic', application_type: 'web' },
      {
        client_id: 'app',
        redirect_uris: ['com.example.app:/cb', 'http://127.0.0.1/cb'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
    ]);
    expect(parse({ ...web, skip_consent: true })).toMatchObject([{ skip_consent: true, application_type: 'web' }]);
    expect(parse()).toEqual([]);
    // Schemes are case-insensitive (RFC 3986 §3.1).
    expect(parse({ client_id: 'loud', redirect_uris: ['HTTPS://A.example/cb'] })).toMatchObject([
      { application_type: 'web' },
    ]);
  });

  test.each([
    ['without an id', [{ redirect_uris: ['https://a.example'] }], /client 1: client_id /],
    ['with a wrong id', [{ ...web, client_id: 'a b' }], /client 1 \("a b"\): client_id must be 1 to 128/],
    ['with the id of another', [web, web], /client 2 \("site"\): client_id is taken/],
    ['with an id of the service', [{ ...web, client_id: 'docs' }], /client 1 \("docs"\): client_id is taken/],
    [
      'without addresses',
      [web, { ...web, client_id: 'b', redirect_uris: [] }],
      /client 2 \("b"\): redirect_uris must name/,
    ],
    [
      'with a plain http address',
      [{ ...web, redirect_uris: ['http://site.example/cb'] }],
      /redirect_uris must be https/,
    ],
    ['with a member nobody knows', [{ ...web, jwks_uri: 'x' }], /client 1 \("site"\): jwks_uri is not client metadata/],
    ['with another scope', [{ ...web, scope: 'write' }], /scope must be "read"/],
    ['with a short secret', [{ ...web, client_secret: 'hush' }], /client_secret must be 32 to 512/],
    ['with a short second secret', [{ ...web, client_secret: [secret, 'hush'] }], /client_secret.1 must be 32 to 512/],
    ['with three secrets', [{ ...web, client_secret: [secret, secret, secret] }], /or a list of two such/],
    [
      'that needs a secret and has none',
      [{ ...web, client_secret: undefined, token_endpoint_auth_method: 'client_secret_post' }],
      /client_secret is missing/,
    ],
    [
      'that is public and has a secret',
      [{ ...web, token_endpoint_auth_method: 'none' }],
      /client_secret must not be there/,
    ],
    [
      'with a way to authenticate that isn’t offered',
      [{ ...web, token_endpoint_auth_method: 'private_key_jwt' }],
      /token_endpoint_auth_method must be one of none/,
    ],
    ['that skips consent of a sort', [{ ...web, skip_consent: 'yes' }], /skip_consent must be true or false/],
    [
      'that skips consent on a rider’s device',
      [{ ...web, redirect_uris: ['https://site.example/cb', 'http://127.0.0.1/cb'], skip_consent: true }],
      /client 1 \("site"\): skip_consent needs a web client: let every redirect URI be https/,
    ],
    [
      'that skips consent and says that it is native',
      [{ ...web, application_type: 'native', skip_consent: true }],
      /skip_consent needs a web client/,
    ],
    ['that is no object', ['x', null, 7], /client 1: .*\nclient 2: .*\nclient 3: /],
  ])('%s: the error names the file, the entry and the member', (_, clients, message) => {
    expect(() => parse(...clients)).toThrow(message);
    expect(() => parse(...clients)).toThrow(/^Cannot read OAUTH_CLIENTS clients.json: /);
    expect(() => parse(...clients)).not.toThrow(/hush|a-secret/);
  });

  test('may have two secrets, and each is accepted', () => {
    const [client] = parse({ ...web, client_secret: [`${secret}-1`, `${secret}-2`] });
    const { client_id, client_secret } = withHashedSecret(client!);
    const accepts = (given: string) => isSecretOf(String(client_id), given, String(client_secret));
    expect([`${secret}-1`, `${secret}-2`, secret, '', String(client_secret)].map(accepts)).toEqual([
      true,
      true,
      ...[false, false, false],
    ]);
  });

  test('that are no JSON or no array are refused without quoting them', () => {
    expect(() => parseClients('[{"client_secret": "hush', 'OAUTH_CLIENTS c')).toThrow(
      /^Cannot read OAUTH_CLIENTS c: it is not JSON/,
    );
    expect(() => parseClients('[{"client_secret": "hush', 'OAUTH_CLIENTS c')).not.toThrow(/hush/);
    expect(() => parseClients('{}', 'OAUTH_CLIENTS c')).toThrow(/it is not an array/);
  });

  test('with several faults are told of all at once', () => {
    expect(() => parse({ ...web, scope: 'x', redirect_uris: [] }, { ...web, client_id: '' })).toThrow(
      /redirect_uris[\s\S]*scope[\s\S]*client 2/,
    );
  });
});

// docs/rules.md#redirect-uris
describe('a redirect URI', () => {
  test.each([
    'https://a.example/cb?x=1',
    'https://[2001:db8::1]:8443/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:1/cb',
    'http://localhost:3000/cb',
    'com.example.app:/cb',
    'com.example.my-app://cb',
    'xn--p1ai.example:/cb',
    'https://A.example:443/%C3%A4//cb;v=1?x=%2F..&y=a?b/@:',
    'https://a.example',
    'https://a.example:/?',
  ])('%s is fine', (uri) => expect(redirectProblem(uri)).toBeNull());
  test.each([
    'http://a.example/cb',
    'http://127.0.0.1.evil.example/',
    'http://0.0.0.0/cb',
    'http://10.0.0.1/cb',
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'ws://127.0.0.1/x',
    'intent://x#Intent;end',
    'view-source:https://a.example',
    'https://user@a.example/cb',
    'https://user:pw@a.example/cb',
    'https://a.example/cb#x',
    'https://a.example/\u0000',
    'https://ä.example/',
    'https://x;frame-ancestors/cb',
    'https://x,y/cb',
    'https://*.example/cb',
    "https://'self'/cb",
    'ms-settings:x',
    // Systems act on these by themselves, and no app owns a name without a domain (RFC 8252, 7.1).
    'smb://evil.example/share',
    'ssh://evil.example',
    'itms-services://?action=download-manifest',
    'vscode://publisher.ext/cb',
    'x-apple.systempreferences:x',
    'z39.50r://evil.example/x',
    'com.:/cb',
    'com..example:/cb',
    'com.example-:/cb',
    'chrome-extension://x/cb',
    // Read by URL parsers in one way, and by RFC 3986 in another or in none.
    'https:///x',
    'https:/a.example/cb',
    'https:a.example/cb',
    'https:////a.example/cb',
    String.raw`https://evil.example\\@good.example/`,
    String.raw`https:\\\\a.example/cb`,
    String.raw`https://a.example/cb\\x`,
    String.raw`com.example.app:\\cb`,
    'https://@a.example/cb',
    'https://:@a.example/cb',
    'https://a@b@c.example/cb',
    'https://%61.example/cb',
    'https://0x7f.1/cb',
    'http://0x7f.1/cb',
    'http://2130706433/cb',
    'http://127.1/cb',
    'http://[0:0:0:0:0:0:0:1]/cb',
    'https://a.example/x/../cb',
    'https://a.example/./cb',
    'https://a.example/x/%2e%2E/cb',
    'https://a.example/%zz',
    'https://a.example/%4',
    'https://a.example/<script>',
    'https://a.example/"cb',
    'https://a.example/[cb]',
    'https://a.example/cb?x=[1]',
    'https://a.example/cb?x=|',
    'https://a.example:x/cb',
    'https://a.example]/cb',
    'com.example.app://me@cb',
    '/cb',
    '',
    `https://a.example/${'x'.repeat(2000)}`,
  ])('%s is refused', (uri) => expect(redirectProblem(uri)).not.toBeNull());
});

test('a client cannot have a name that deceives', () => {
  const fine = { redirect_uris: ['https://a.example/cb'], client_name: 'Radausflüge 🚲' };
  expect(clientProblem(fine)).toBeNull();
  for (const client_name of ['I ❤️ rides', 'Ride Tiếng Việt', 'Chạy xe đêm', 'רכיבה', '라이딩', 'a\u0323\u0302\u0301'])
    expect([client_name, clientProblem({ ...fine, client_name })]).toEqual([client_name, null]);
  for (const more of [
    { client_name: 'Ride\u202eradnelaC' },
    { client_name: 'a\nb' },
    { client_name: 'a\ue000' },
    { client_name: 'a\ud800' },
    { client_name: '\u3164' },
    { client_name: '\u2800' },
    { client_name: 'a\u034f' },
    { client_name: `a${'\u0301'.repeat(4)}` },
    { client_name: ' ' },
    { client_name: 7 },
    { client_name: 'x'.repeat(81) },
    { redirect_uris: Array.from({ length: 11 }, (_, i) => `https://a.example/${i}`) },
    { redirect_uris: [7] },
  ])
    expect([more, clientProblem({ ...fine, ...more })]).toEqual([more, expect.any(String)]);
});
