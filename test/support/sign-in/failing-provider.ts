import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** Answers a request in place of the provider. */
type Fault = (response: ServerResponse) => void;

/** By path: what fails, until it is taken away. */
type Faults = Partial<Record<'/.well-known/openid-configuration' | '/token' | '/jwks', Fault>>;

export type FailingProvider = Awaited<ReturnType<typeof startFailingProvider>>;

/** The riders' OpenID Connect provider, which fails on demand. */
export async function startFailingProvider() {
  let issuer = '';
  let signing = await newKey();
  const codes = new Map<string, { sub: string; nonce: string }>();
  const faults: Faults = {};
  const client = { clientId: 'ride-calendar', clientSecret: 'a-secret-that-only-the-two-know-of' };

  const idToken = (sub: string, nonce: string) =>
    new SignJWT({ nonce })
      .setProtectedHeader({ alg: 'ES256', kid: signing.jwk.kid! })
      .setIssuer(issuer)
      .setAudience(client.clientId)
      .setSubject(sub)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(signing.privateKey);

  const answers: Record<string, (form: URLSearchParams) => Promise<[number, object]>> = {
    '/.well-known/openid-configuration': async () => {
      const supported = { response_types_supported: ['code'], authorization_response_iss_parameter_supported: true };
      const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
      const keys = { jwks_uri: `${issuer}/jwks`, id_token_signing_alg_values_supported: ['ES256'] };
      return [200, { issuer, ...endpoints, ...keys, ...supported }];
    },
    '/jwks': async () => [200, { keys: [signing.jwk] }],
    '/token': async (form) => {
      const found = codes.get(form.get('code') ?? '');
      if (!found) return [400, { error: 'invalid_grant' }];
      return [200, { access_token: 'x', token_type: 'Bearer', id_token: await idToken(found.sub, found.nonce) }];
    },
  };

  const server = createServer(async (request, response) => {
    const path = request.url!.split('?')[0] as keyof typeof faults;
    const fault = faults[path];
    if (fault) return void fault(response);
    const form = new URLSearchParams((await request.toArray()).join(''));
    const [status, body] = await answers[path]!(form);
    answerJson(body, status)(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    issuer,
    ...client,
    faults,
    /** Where the browser is sent back to from a door, signed in as a rider. */
    answer(door: URL, sub: string): URL {
      const code = `code-${codes.size}`;
      codes.set(code, { sub, nonce: door.searchParams.get('nonce')! });
      const back = new URL(door.searchParams.get('redirect_uri')!);
      back.search = new URLSearchParams({ code, state: door.searchParams.get('state')!, iss: issuer }).toString();
      return back;
    },
    /** From now on another key signs, and the old one is gone. */
    async rotateKey(): Promise<void> {
      signing = await newKey();
    },
    async stop(): Promise<void> {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Answers with JSON. */
export const answerJson =
  (body: object, status = 200, headers: Record<string, string> = {}): Fault =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

/** Answers with a page, as proxies do for what is behind them. */
export const answerPage =
  (status: number): Fault =>
  (response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Out of order</h1>');

let keys = 0;
async function newKey() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: `key-${keys++}`, alg: 'ES256', use: 'sig' } };
}
