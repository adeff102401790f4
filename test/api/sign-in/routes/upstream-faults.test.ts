import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { freePorts } from '../../../../infra/local/free-port.ts';
import { type Fault, type RideManagement, startRideManagement } from '../../../support/sign-in/ride-management.ts';
import { doorOf } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { TestBrowser } from '../../../support/sign-in/test-browser.ts';

const [port, freshPort] = await freePorts(2);
const redirectUri = [port, freshPort].map((at) => `http://127.0.0.1:${at}/oauth/sign-in-callback`);
const upstream = await startRideManagement({ redirectUri, alg: 'ES256' });
const service = await startSignInService({ port: port!, who: { upstream } });
const { told } = service;
const client = await service.register();
afterAll(async () => {
  await service.close();
  await upstream.stop();
});
type Faults = RideManagement['faults'];
const mend = () => {
  for (const path of Object.keys(upstream.faults)) delete upstream.faults[path as keyof Faults];
};
afterEach(mend);

const answerJson =
  (body: object, status = 200, headers: Record<string, string> = {}): Fault =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
/** A page, as proxies answer for what is behind them. */
const answerPage =
  (status: number): Fault =>
  (response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Out of order</h1>');

const begin = async (browser: TestBrowser) => await browser.open(service.authorizeUrl(client));
type Change = (params: URLSearchParams) => void;
const back = async (browser: TestBrowser, page: string, change: Change = () => {}) => {
  const answer = new URL(await upstream.signIn((await doorOf(browser, page)).href, 'rider-ada'));
  change(answer.searchParams);
  told.length = 0;
  return await browser.open(answer.href);
};
const said =
  (error: string): Change =>
  (params) => {
    params.delete('code');
    params.set('error', error);
  };
const tryAgain = (page: string): string => service.origin + /href="([^"]+)">Try again/.exec(page)![1]!;

// docs/rules.md#identity, docs/audit-trail.md
describe('a fault of the riders’ provider is told as one, and the rider can try again', () => {
  const basicRealm = { 'www-authenticate': 'Basic realm="x"' };
  type Case = [string, Faults, Change?];
  test.each<Case>([
    ...[502, 429].map((status): Case => [`token endpoint ${status}`, { '/token': answerPage(status) }]),
    ['token endpoint 400 server_error', { '/token': answerJson({ error: 'server_error' }, 400) }],
    ['token endpoint a page with 200', { '/token': answerPage(200) }],
    ['token endpoint no ID token', { '/token': answerJson({ access_token: 'x', token_type: 'Bearer' }) }],
    ['token endpoint that hangs up', { '/token': (response) => void response.destroy() }],
    ['which does not know this service', { '/token': answerJson({ error: 'invalid_client' }, 401) }],
    ['which does not know us, by its header', { '/token': answerJson({ error: 'invalid_client' }, 401, basicRealm) }],
    ['keys 503', { '/jwks': answerPage(503) }],
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
    mend();
    const again = await browser.open(tryAgain(failed.page));
    expect((await back(browser, again.page)).page).toContain('Ada Lovelace');
  });

  const having = (name: string, value?: string) => () => {
    const urls = { authorization_endpoint: '/auth', token_endpoint: '/token', jwks_uri: '/jwks' };
    const known = Object.entries(urls).map(([endpoint, path]) => [endpoint, upstream.issuer + path]);
    return answerJson({ issuer: upstream.issuer, ...Object.fromEntries(known), [name]: value });
  };
  test.each<[string, () => Fault]>([
    ['a page with 503', () => answerPage(503)],
    ['a page with 200', () => answerPage(200)],
    ['no token endpoint', having('token_endpoint')],
    ['an endpoint that is no address', having('authorization_endpoint', 'javascript:alert(1)')],
    ['keys at another endpoint', having('jwks_uri', `${upstream.issuer}/token`)],
  ])('metadata that can’t be used: %s', async (_, fault) => {
    upstream.faults['/.well-known/openid-configuration'] = fault();
    const fresh = await startSignInService({ port: freshPort!, who: { upstream } });
    const browser = new TestBrowser(fresh.origin);
    const at = await browser.open(fresh.authorizeUrl(await fresh.register()));
    const started = await browser.get(`${at.url}/start`);
    const failed = started.status === 502 ? await started.text() : (await back(browser, at.page)).page;
    expect(failed).toContain('upstream_unavailable');
    expect(fresh.told.at(-1)).toEqual(['sign_in_refused', { cause: 'upstream_unavailable' }]);
    // It is not kept.
    mend();
    expect((await back(browser, at.page)).page).toContain('Ada Lovelace');
    await fresh.close();
  });
});

test('a key that the provider has just rotated keeps nobody out', async () => {
  for (const _ of ['old', 'new', 'newer']) {
    const browser = new TestBrowser(service.origin);
    expect((await back(browser, (await begin(browser)).page)).page).toContain('Ada Lovelace');
    upstream.rotateKey();
  }
});

test.each<[string, Change]>([
  ['access_denied', said('access_denied')],
  ['a code of nobody', (params) => params.set('code', 'x')],
  ['another issuer', (params) => params.set('iss', 'https://elsewhere.example')],
  ['no issuer', (params) => params.delete('iss')],
])('a no of the riders’ provider stays one: %s', async (_, change) => {
  const browser = new TestBrowser(service.origin);
  const refused = await back(browser, (await begin(browser)).page, change);
  expect([refused.response.status, refused.page]).toEqual([403, expect.stringContaining('upstream_refused')]);
  expect(told).toEqual([['sign_in_refused', { cause: 'provider' }]]);
});
