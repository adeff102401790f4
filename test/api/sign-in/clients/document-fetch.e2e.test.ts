import { expect, test } from 'vitest';
import { DocumentAwayError } from '../../../../api/ports/metadata-fetch.ts';
import { memorySignInState } from '../../../../infra/memory/memory-sign-in-state.ts';
import { approve, authorizeUrl, callback, redeem, refresh } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const id = 'https://app.example/client.json';

test('a document that can’t be had just now costs no app its tokens, and no rider the page of connected apps', async () => {
  let away = false;
  const metadataFetch: typeof fetch = async () => {
    if (away) throw new DocumentAwayError('the document can’t be fetched');
    return Response.json({ client_id: id, client_name: 'App', redirect_uris: [callback] });
  };
  const store = { ...memorySignInState(), close: async () => {} };
  const service = await startSignInService({ metadataFetch, store });
  const [client, pkce, browser] = [{ client_id: id }, newPkce(), new TestBrowser(service.origin)];
  const code = (await approve(browser, authorizeUrl(service.origin, client, pkce))).searchParams.get('code')!;
  const { refresh_token: token } = (await redeem(service.origin, client, code, pkce.verifier)).body;
  await service.close();

  away = true;
  // It has not seen the document yet.
  const other = await startSignInService({ metadataFetch, store, port: Number(new URL(service.origin).port) });
  const post = async (path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams(form);
    const response = await fetch(`${other.origin}${path}`, { method: 'POST', body, headers });
    return { status: response.status, headers: response.headers, body: (await response.json()) as { error: string } };
  };
  const refreshing = { client_id: id, grant_type: 'refresh_token', refresh_token: String(token) };
  const basic = { authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:x`).toString('base64')}` };
  for (const answer of [
    await post('/oauth/token', refreshing),
    await post('/oauth/token', { grant_type: 'refresh_token', refresh_token: String(token) }, basic),
    await post('/oauth/token', { client_id: id, grant_type: 'authorization_code', code: 'x', redirect_uri: callback }),
    await post('/oauth/revoke', { client_id: id, token: String(token) }),
  ]) {
    expect([answer.status, answer.headers.get('retry-after'), answer.body.error]).toEqual([
      503,
      '5',
      'temporarily_unavailable',
    ]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('www-authenticate')).toBeNull();
  }
  expect((await browser.open(authorizeUrl(other.origin, client, newPkce()))).response.status).toBe(503);
  // The app's id stands in for its name.
  expect((await browser.open(`${other.origin}/oauth/connected-apps`)).page).toContain(`Disconnect ${id}`);
  away = false;
  expect((await refresh(other.origin, client, token)).status).toBe(200);
  await other.close();
});
