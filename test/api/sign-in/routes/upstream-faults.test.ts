import { afterAll, afterEach, describe, expect, test } from 'vitest';
import {
  answerJson,
  answerPage,
  type FailingProvider,
  startFailingProvider,
} from '../../../support/sign-in/failing-provider.ts';
import { doorOf } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce, TestBrowser } from '../../../support/sign-in/test-browser.ts';

const upstream = await startFailingProvider();
const service = await startSignInService({ who: { upstream } });
const { told } = service;
const client = await service.register();
afterAll(async () => {
  await service.close();
  await upstream.stop();
});
afterEach(() => {
  for (const path of Object.keys(upstream.faults)) delete upstream.faults[path as keyof FailingProvider['faults']];
});

const begin = async (browser: TestBrowser) => await browser.open(service.authorizeUrl(client));
const back = async (browser: TestBrowser, page: string, change = (_: URLSearchParams): void => undefined) => {
  const answer = upstream.answer(await doorOf(browser, page), 'rider-ada');
  change(answer.searchParams);
  told.length = 0;
  return await browser.open(answer.href);
};
const said = (error: string) => (params: URLSearchParams) => {
  params.delete('code');
  params.set('error', error);
};
const tryAgain = (page: string): string => service.origin + /href="([^"]+)">Try again/.exec(page)![1]!;

// docs/rules.md#identity, docs/audit-trail.md
describe('a fault of the riders’ provider is told as one, and the rider can try again', () => {
  const hangUp: typeof answerPage = () => (response) => void response.destroy();
  const basicRealm = { 'www-authenticate': 'Basic realm="x"' };
  type Case = [string, FailingProvider['faults'], ((params: URLSearchParams) => void)?];
  test.each<Case>([
    ...[502, 429].map((status): Case => [`token endpoint ${status}`, { '/token': answerPage(status) }]),
    ['token endpoint 503 as OAuth has it', { '/token': answerJson({ error: 'temporarily_unavailable' }, 503) }],
    ['token endpoint 400 server_error', { '/token': answerJson({ error: 'server_error' }, 400) }],
    ['token endpoint a page with 200', { '/token': answerPage(200) }],
    ['token endpoint a page with 403', { '/token': answerPage(403) }],
    ['token endpoint no ID token', { '/token': answerJson({ access_token: 'x', token_type: 'Bearer' }) }],
    ['token endpoint that hangs up', { '/token': hangUp(0) }],
    ['which does not know this service', { '/token': answerJson({ error: 'invalid_client' }, 401) }],
    ['which does not know us, by its header', { '/token': answerJson({ error: 'invalid_client' }, 401, basicRealm) }],
    ['keys 503', { '/jwks': answerPage(503) }],
    ['keys a page', { '/jwks': answerPage(200) }],
    ['keys of others', { '/jwks': answerJson({ keys: [] }) }],
    ['callback server_error', {}, said('server_error')],
    ['callback temporarily_unavailable', {}, said('temporarily_unavailable')],
  ])('%s', async (_, faults, change) => {
    const browser = new TestBrowser(service.origin);
    const { page } = await begin(browser);
    Object.assign(upstream.faults, faults);
    const failed = await back(browser, page, change);
    expect([failed.response.status, failed.page]).toEqual([502, expect.stringContaining('upstream_unavailable')]);
    expect(failed.page).not.toContain('cancelled or refused');
    expect(told).toEqual([['sign_in_refused', { cause: 'upstream_unavailable' }]]);
    for (const path of Object.keys(faults)) delete upstream.faults[path as keyof typeof faults];
    const again = await browser.open(tryAgain(failed.page));
    expect((await back(browser, again.page)).page).toContain('Ada Lovelace');
  });

  const having = (name: string, value?: string | number) => () => {
    const urls = { authorization_endpoint: '/authorize', token_endpoint: '/token', jwks_uri: '/jwks' };
    const known = Object.entries(urls).map(([endpoint, path]) => [endpoint, upstream.issuer + path]);
    return answerJson({ issuer: upstream.issuer, ...Object.fromEntries(known), [name]: value });
  };
  const startFresh = async () => {
    const fresh = await startSignInService({ who: { upstream } });
    const browser = new TestBrowser(fresh.origin);
    const at = await browser.open(fresh.authorizeUrl(await fresh.register(), newPkce()));
    return { fresh, browser, at };
  };
  test.each<[string, () => ReturnType<typeof answerPage>]>([
    ['a page with 503', () => answerPage(503)],
    ['a page with 200', () => answerPage(200)],
    ['no token endpoint', having('token_endpoint')],
    ['an endpoint that is no address', having('authorization_endpoint', 'javascript:alert(1)')],
    ['methods that are no list', having('token_endpoint_auth_methods_supported', 7)],
  ])('metadata that can’t be read: %s', async (_, fault) => {
    upstream.faults['/.well-known/openid-configuration'] = fault();
    const { fresh, browser, at } = await startFresh();
    const { response, page } = await browser.open(`${at.url}/start`);
    expect([response.status, page]).toEqual([502, expect.stringContaining('upstream_unavailable')]);
    expect(fresh.told.at(-1)).toEqual(['sign_in_refused', { cause: 'upstream_unavailable' }]);
    // It is not kept.
    delete upstream.faults['/.well-known/openid-configuration'];
    expect((await back(browser, at.page)).page).toContain('Ada Lovelace');
    await fresh.close();
  });

  test('metadata with a wrong endpoint, which is mended', async () => {
    upstream.faults['/.well-known/openid-configuration'] = having('jwks_uri', `${upstream.issuer}/token`)();
    const { fresh, browser, at } = await startFresh();
    expect((await back(browser, at.page)).page).toContain('upstream_unavailable');
    delete upstream.faults['/.well-known/openid-configuration'];
    expect((await back(browser, at.page)).page).toContain('Ada Lovelace');
    await fresh.close();
  });
});

test('a key that the provider has just rotated keeps nobody out', async () => {
  for (const _ of ['old', 'new', 'newer']) {
    const browser = new TestBrowser(service.origin);
    expect((await back(browser, (await begin(browser)).page)).page).toContain('Ada Lovelace');
    await upstream.rotateKey();
  }
});

describe('a no of the riders’ provider stays one', () => {
  test.each<[string, (params: URLSearchParams) => void]>([
    ['access_denied', said('access_denied')],
    ['a code of nobody', (params) => params.set('code', 'x')],
    ['no code', (params) => params.delete('code')],
    ['another issuer', (params) => params.set('iss', 'https://elsewhere.example')],
    ['no issuer', (params) => params.delete('iss')],
    // One that somebody began elsewhere: its nonce is another.
    [
      'the code of another sign-in',
      (params) => {
        const door = new URL(`${upstream.issuer}/authorize?redirect_uri=http://x&nonce=other&state=other`);
        params.set('code', upstream.answer(door, 'rider-bo').searchParams.get('code')!);
      },
    ],
  ])('%s', async (_, change) => {
    const browser = new TestBrowser(service.origin);
    const refused = await back(browser, (await begin(browser)).page, change);
    expect([refused.response.status, refused.page]).toEqual([403, expect.stringContaining('upstream_refused')]);
    expect(told).toEqual([['sign_in_refused', { cause: 'provider' }]]);
  });
});
