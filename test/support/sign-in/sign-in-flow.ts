import { decodeJwt } from 'jose';
import type { RideManagement } from './ride-management.ts';
import { newPkce, TestBrowser } from './test-browser.ts';

export const callback = 'http://127.0.0.1:9/callback';

export interface Client {
  client_id: string;
  client_secret?: string;
}

/** Signs in, by picking a rider or at the ride-management system, and consents where asked; where the browser is sent in the end. */
export async function approve(
  browser: TestBrowser,
  url: string,
  rider = 'rider-ada',
  upstream?: RideManagement,
): Promise<URL> {
  let at = await browser.open(url);
  for (let pages = 0; pages < 5; pages++) {
    if (at.page === '') return new URL(at.url);
    const form: Record<string, string> = at.page.includes('value="pick"') ? { do: 'pick', rider } : { do: 'allow' };
    const door = upstream && at.page.includes('/start"') ? await doorOf(browser, at.page) : null;
    const next = door
      ? await browser.open(await upstream!.signIn(door.href, rider))
      : await browser.submit(at.url, form);
    if (next.page !== '' && next.url === at.url) throw new Error(`no way on: ${next.response.status} ${next.page}`);
    at = next;
  }
  throw new Error('pages without end');
}

/** Where the sign-in page sends the browser: the door of the ride-management system. */
export async function doorOf(browser: TestBrowser, page: string): Promise<URL> {
  const sent = await browser.get(/href="([^"]+\/start)"/.exec(page)![1]!);
  return new URL(sent.headers.get('location')!);
}

/** How a client with a secret authenticates. */
export const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

type TokenAnswer = Record<'access_token' | 'refresh_token' | 'token_type' | 'scope', string> & {
  expires_in: number;
  error?: string;
  error_description?: string;
};

export type SignedIn = Awaited<ReturnType<ReturnType<typeof flowAt>['signedIn']>>;

/** The steps at one service. */
export function flowAt(origin: string) {
  async function register(metadata: object = {}): Promise<Client> {
    const defaults = { client_name: 'Test app', redirect_uris: [callback], token_endpoint_auth_method: 'none' };
    const response = await fetch(`${origin}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...defaults, ...metadata }),
    });
    if (response.status !== 201) throw new Error(`registration: ${response.status} ${await response.text()}`);
    return (await response.json()) as Client;
  }

  function authorizeUrl({ client_id }: Client, pkce = newPkce(), more: Record<string, string> = {}): string {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id,
      redirect_uri: callback,
      code_challenge: pkce.challenge,
      code_challenge_method: 'S256',
      state: 'the-state',
      ...more,
    });
    for (const [name, value] of Object.entries(more)) if (value === '') query.delete(name);
    return `${origin}/oauth/authorize?${query}`;
  }

  async function codeFor(client: Client, more: Record<string, string> = {}, rider?: string, upstream?: RideManagement) {
    const pkce = newPkce();
    const end = await approve(new TestBrowser(origin), authorizeUrl(client, pkce, more), rider, upstream);
    const code = end.searchParams.get('code');
    if (code === null) throw new Error(`no code: ${end.href}`);
    return { code, pkce };
  }

  async function tokenRequest(form: Record<string, string>, headers: Record<string, string> = {}) {
    const response = await fetch(`${origin}/oauth/token`, { method: 'POST', body: new URLSearchParams(form), headers });
    return { status: response.status, headers: response.headers, body: (await response.json()) as TokenAnswer };
  }

  const redeem = ({ client_id }: Client, code: string, verifier: string, more: Record<string, string> = {}) =>
    tokenRequest({
      grant_type: 'authorization_code',
      client_id,
      code,
      code_verifier: verifier,
      redirect_uri: callback,
      ...more,
    });

  const refresh = ({ client_id }: Client, refresh_token: string, more: Record<string, string> = {}) =>
    tokenRequest({ grant_type: 'refresh_token', client_id, refresh_token, ...more });

  /** The whole flow with a registered public client. */
  async function signedIn(rider?: string, upstream?: RideManagement) {
    const client = await register();
    const { code, pkce } = await codeFor(client, {}, rider, upstream);
    const { status, body } = await redeem(client, code, pkce.verifier);
    if (status !== 200) throw new Error(`token endpoint: ${status} ${JSON.stringify(body)}`);
    return { client, code, pkce, tokens: body };
  }

  return { register, authorizeUrl, codeFor, tokenRequest, redeem, refresh, signedIn };
}

/** Whether an access token is live, and whose it is. */
export async function nights(baseUrl: string, token: string): Promise<{ status: number; rider?: string | undefined }> {
  const { ok, status } = await fetch(`${baseUrl}/me/nights`, { headers: { authorization: `Bearer ${token}` } });
  return ok ? { status, rider: decodeJwt(token).sub } : { status };
}
