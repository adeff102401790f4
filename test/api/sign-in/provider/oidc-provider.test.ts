import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Adapter,
  type AdapterPayload,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider';
import { afterEach, describe, expect, test } from 'vitest';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

/** What api/sign-in takes from oidc-provider beyond its documents, against oidc-provider alone: provider/README.md lists it. */

const lock = JSON.parse(readFileSync(new URL('../../../../package-lock.json', import.meta.url), 'utf8'));
const { version } = lock.packages['node_modules/oidc-provider'];

const callback = 'https://app.example/callback';
const app = { client_id: 'app', token_endpoint_auth_method: 'none' as const, redirect_uris: [callback] };

/** Where oidc-provider finds everything. */
class Entries {
  readonly all = new Map<string, AdapterPayload>();

  readonly adapter = (kind: string): Adapter => {
    const at = (id: string): string => `${kind} ${id}`;
    const findBy = (id: string, name: 'uid' | 'userCode') =>
      [...this.all].find(([key, entry]) => key.startsWith(`${kind} `) && entry[name] === id)?.[1];
    return {
      find: async (id) => this.all.get(at(id)),
      upsert: async (id, payload) => void this.all.set(at(id), payload),
      consume: async (id) => void Object.assign(this.all.get(at(id))!, { consumed: 1 }),
      destroy: async (id) => void this.all.delete(at(id)),
      findByUid: async (uid) => findBy(uid, 'uid'),
      findByUserCode: async (code) => findBy(code, 'userCode'),
      revokeByGrantId: async () => {},
    };
  };
}

const closing: (() => unknown)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

/** oidc-provider on a socket, with one public client. `handle`: what answers a request, if not its callback alone. */
async function open(
  options: Configuration = {},
  handle = (callback: ReturnType<Provider['callback']>, request: IncomingMessage, response: ServerResponse): unknown =>
    callback(request, response),
) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close().closeAllConnections());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const entries = new Entries();
  const provider = new Provider(origin, {
    adapter: entries.adapter,
    clients: [{ ...app, grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] }],
    scopes: ['read'],
    issueRefreshToken: async () => false,
    findAccount: async (_, sub) => ({ accountId: sub, claims: async () => ({ sub }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    ...options,
    features: { devInteractions: { enabled: false }, revocation: { enabled: true }, ...options.features },
  });
  // Made anew for each request: what is in use by then is in it.
  server.on('request', (request, response) => void handle(provider.callback(), request, response));
  const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(origin + path, { method: 'POST', body: new URLSearchParams({ client_id: 'app', ...form }), headers });
  return { origin, provider, entries, post, token: (form: Record<string, string>) => post('/token', form) };
}

const pkce = newPkce();
function authorizeUrl(origin: string, more: Record<string, string> = {}): string {
  const query = { client_id: 'app', response_type: 'code', scope: 'read', redirect_uri: callback, ...more };
  const proof = { code_challenge: pkce.challenge, code_challenge_method: 'S256' };
  return `${origin}/auth?${new URLSearchParams({ ...query, ...proof })}`;
}
const authorize = (origin: string, more: Record<string, string> = {}) =>
  fetch(authorizeUrl(origin, more), { redirect: 'manual' });

/** A code that the client can redeem, and the form to do so. */
async function codeFor(provider: Provider, of: Record<string, unknown> = {}) {
  const grant = new provider.Grant({ accountId: 'ada', clientId: 'app' });
  grant.addOIDCScope('read');
  const code = new provider.AuthorizationCode({
    accountId: 'ada',
    client: (await provider.Client.find('app'))!,
    grantId: await grant.save(),
    redirectUri: callback,
    scope: 'read',
    codeChallenge: pkce.challenge,
    codeChallengeMethod: 'S256',
    ...of,
  } as ConstructorParameters<Provider['AuthorizationCode']>[0]);
  const form = { grant_type: 'authorization_code', redirect_uri: callback, code_verifier: pkce.verifier };
  return { ...form, code: await code.save() };
}

describe(`oidc-provider ${version}`, () => {
  test.each([
    ['authorization.error', new errors.InvalidRequest('wrong'), 400],
    ['server_error', new Error('broken'), 500],
  ])('emits %s with the error, then looks at its allow_redirect', async (event, thrown, status) => {
    const fail = () => {
      throw Object.assign(thrown, { allow_redirect: true });
    };
    const rendered: unknown[] = [];
    const renderError: Configuration['renderError'] = (ctx, out, error) => {
      rendered.push(error, out.state);
      ctx.body = '';
    };
    const { origin, provider } = await open({ extraParams: { state: fail }, renderError });
    expect((await authorize(origin, { state: 's' })).headers.get('location')).toContain(`${callback}?error=`);
    provider.on(event as 'server_error', ({ oidc }: KoaContextWithOIDC, error) => {
      expect([oidc.route, oidc.client?.clientId, oidc.params?.redirect_uri]).toEqual([
        'authorization',
        'app',
        callback,
      ]);
      Object.assign(error, { allow_redirect: false });
    });
    const withheld = await authorize(origin, { state: 's' });
    expect([withheld.status, withheld.headers.get('location')]).toEqual([status, null]);
    expect(rendered).toEqual([thrown, 's']);
  });

  test('finds every client by its class’s find, which may be replaced', async () => {
    const { origin, provider, post } = await open();
    provider.Client.find = () => Promise.reject(new errors.TemporarilyUnavailable('later'));
    const refresh = { grant_type: 'refresh_token', refresh_token: 't' };
    const answers = [post('/token', refresh), post('/token/revocation', { token: 't' }), authorize(origin)];
    for (const answer of await Promise.all(answers)) expect(await answer.text()).toContain('temporarily_unavailable');
  });

  test('gives what its fetch of a client’s document threw as the cause', async () => {
    const [away, id] = [new Error('away'), 'https://client.example/client.json'];
    const { provider } = await open({
      features: { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } },
      fetch: () => Promise.reject(away),
    });
    await expect(provider.Client.find(id)).rejects.toMatchObject({ error: 'invalid_client', cause: away });
  });

  test('reads path, headers and body of what has a request as its prototype, and resolves once it has answered', async () => {
    let answered: [boolean, number] | undefined;
    const { provider, origin } = await open({}, async (callback, raw, response) => {
      const body = Buffer.from(raw.headers['x-body'] as string);
      const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) };
      const own = {
        url: '/token',
        method: 'POST',
        headers: { ...headers, host: raw.headers.host! },
        readable: true,
        iterator: async function* () {
          yield body;
        },
      };
      const properties = Object.entries(own).map(([name, value]) => [name, { value, writable: true }]);
      await callback(Object.create(raw, Object.fromEntries(properties)), response);
      answered = [response.writableEnded, response.statusCode];
    });
    const form = new URLSearchParams({ client_id: 'app', ...(await codeFor(provider)) });
    const { status } = await fetch(`${origin}/elsewhere`, { headers: { 'x-body': `${form}` } });
    expect([status, answered]).toEqual([200, [true, 200]]);
  });

  test('answers a registration with the body that a listener to its success changed', async () => {
    const { origin, provider } = await open({ features: { registration: { enabled: true } } });
    provider.on('registration_create.success', (ctx) => Object.assign(ctx.body as object, { scope: 'read' }));
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ ...app, client_id: undefined }) };
    expect(await (await fetch(`${origin}/reg`, init)).json()).toMatchObject({ scope: 'read' });
  });

  test('answers a refused token request with the body and headers that a listener to its error changed', async () => {
    const { provider, token } = await open();
    provider.on('grant.error', (ctx) => {
      ctx.set('Retry-After', '7');
      Object.assign(ctx.body as object, { error_description: 'our words' });
    });
    const refused = await token({ ...(await codeFor(provider)), code: 'none' });
    expect(refused.headers.get('retry-after')).toBe('7');
    expect(await refused.json()).toEqual({ error: 'invalid_grant', error_description: 'our words' });
  });

  test('answers an error with the status that was put on it', async () => {
    const away = Object.assign(new errors.TemporarilyUnavailable('later'), { status: 503, statusCode: 503 });
    const { provider, token } = await open({ findAccount: () => Promise.reject(away) });
    const seen: number[] = [];
    provider.use(async (ctx, next) => {
      await next();
      seen.push(ctx.status);
    });
    const { status } = await token(await codeFor(provider));
    expect([status, seen]).toEqual([503, [503]]);
  });

  test.each<[detail: string, options: Configuration, form: Record<string, string>, code: Record<string, unknown>]>([
    ['authorization code is expired', {}, {}, { expiresIn: -60 }],
    ['grant not found', {}, {}, { grantId: 'none' }],
    ['authorization code redirect_uri mismatch', {}, { redirect_uri: 'https://app.example/' }, {}],
    ['account not found', { findAccount: async () => undefined }, {}, {}],
  ])('says in error_detail: %s', async (detail, options, form, of) => {
    const { provider, token } = await open(options);
    const details: unknown[] = [];
    provider.on('grant.error', (_, error) => details.push(error.error_detail));
    expect((await token({ ...(await codeFor(provider, of)), ...form })).status).toBe(400);
    expect(details).toEqual([expect.stringContaining(detail)]);
  });

  test('gives what is wrong with a verifier as the cause, and what the adapter’s consume throws as the error', async () => {
    const used = new errors.InvalidGrant('used already');
    const entries = new Entries();
    const consume = () => Promise.reject(used);
    const { provider, token } = await open({ adapter: (kind) => ({ ...entries.adapter(kind), consume }) });
    const seen: unknown[] = [];
    provider.on('grant.error', (_, error) => seen.push(error === used ? used : (error.cause as Error).message));
    const code = await codeFor(provider);
    await token({ ...code, code_verifier: newPkce().verifier });
    await token(code);
    expect(seen).toEqual([expect.stringMatching(/verif/i), used]);
  });

  test('asks the adapter for whatever token is to be revoked, but for what looks like a JWT, and ends its grant', async () => {
    const { provider, entries, post } = await open({ revokeGrantPolicy: async () => true });
    const grant = await new provider.Grant({ accountId: 'ada', clientId: 'app' }).save();
    const token = 'mark:a.b.c';
    entries.all.set(`AccessToken ${token}`, { kind: 'AccessToken', clientId: 'app', grantId: grant });
    const revoke = (token: string) => post('/token/revocation', { token });
    const jwt = [{ alg: 'ES256' }, {}].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
    expect((await revoke(`${jwt.join('.')}.x`)).status).toBe(400);
    const revoked = await revoke(token);
    expect([revoked.status, await revoked.text(), entries.all.has(`Grant ${grant}`)]).toEqual([200, '', false]);
  });

  test('finds an expired code if it is asked to', async () => {
    const { provider } = await open();
    const { code } = await codeFor(provider, { expiresIn: -60 });
    expect(await provider.AuthorizationCode.find(code)).toBeUndefined();
    const found = await provider.AuthorizationCode.find(code, { ignoreExpiration: true });
    expect(found?.redirectUri).toBe(callback);
  });

  test('has each client checked by the validator of a member that it lacks, and keeps what that changes', async () => {
    const validator = (_ctx: unknown, _name: string, _value: unknown, metadata: object) =>
      void Object.assign(metadata, { application_type: 'native' });
    const { provider } = await open({ extraClientMetadata: { properties: ['skip_consent'], validator } });
    expect((await provider.Client.find('app'))?.applicationType).toBe('native');
  });

  test('goes on with a pending sign-in after its session was destroyed, if that is taken out of it', async () => {
    const { origin, provider } = await open({}, async (callback, request, response) => {
      if (!request.url!.startsWith('/interaction/')) return callback(request, response);
      const session = await provider.Session.get(provider.createContext(request, response));
      const interaction = await provider.interactionDetails(request, response);
      if (session.accountId === 'bo') {
        await session.destroy();
        if (interaction.session?.uid === session.uid) delete (interaction as { session?: unknown }).session;
      }
      const accountId = session.accountId === undefined ? 'bo' : 'ada';
      const login = { accountId, ts: Math.floor(Date.now() / 1000) };
      const grant = new provider.Grant({ accountId, clientId: 'app' });
      grant.addOIDCScope('read');
      interaction.result = { ...interaction.lastSubmission, login, consent: { grantId: await grant.save() } };
      await interaction.persist();
      response.writeHead(303, { location: interaction.returnTo }).end();
    });
    const cookies = new Set<string>();
    provider.use(async (ctx, next) => {
      await next();
      const lines = [ctx.response.get('Set-Cookie')].flat();
      for (const line of lines) if (/; expires=/i.test(line)) cookies.add(line.split('=')[0]!);
    });
    const browser = new TestBrowser(origin);
    const ends: string[] = [];
    provider.on('authorization.success', ({ oidc }) => ends.push(oidc.account!.accountId));
    for (const prompt of ['login', 'login'])
      expect((await browser.open(authorizeUrl(origin, { prompt }))).url).toContain(`${callback}?code=`);
    expect(ends).toEqual(['bo', 'ada']);
    // Each line with its end by oidc-provider's clock, for a middleware to change.
    expect([...cookies]).toEqual(
      expect.arrayContaining([provider.cookieName('session'), provider.cookieName('interaction')]),
    );
  });
});
