import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { User, UserManager } from 'oidc-client-ts';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, expect, test } from 'vitest';
import { launchBrowser, poorContrast } from '../../../support/processes/browser.ts';
import { nights } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService } from '../../../support/sign-in/sign-in-service.ts';
import { newPkce } from '../../../support/sign-in/test-browser.ts';

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const library = read('node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js');
/** An app's own server: a page on oidc-client-ts with the settings of docs/oidc-client-ts-example.js, and callbacks. */
const server = createServer((request, response) => {
  // As apps do whose site hands the answer on to the app itself.
  const onward = {
    '/to-scheme': 'com.example.app:/signed-in',
    '/elsewhere': `${app.replace('127.0.0.1', 'localhost')}/`,
  };
  const location = onward[request.url!.split('?')[0] as keyof typeof onward];
  if (location !== undefined) return void response.writeHead(302, { location }).end();
  if (request.url === '/library.js') return void response.setHeader('content-type', 'text/javascript').end(library);
  const script = read('docs/oidc-client-ts-example.js')
    .replace(/^.*?export /s, '')
    .replaceAll('http://127.0.0.1:8080', service.origin)
    .replaceAll('http://127.0.0.1:9999', app)
    .replace('const manager', 'const { UserManager } = oidc; window.manager');
  response.setHeader('content-type', 'text/html');
  response.end(`<h1>Back in the app</h1><script src="/library.js"></script><script>${script}</script>`);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const app = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const redirect_uris = ['/signed-in', '/to-scheme', '/elsewhere'].map((path) => app + path);
const file = { client_id: 'my-app', client_name: 'My app', token_endpoint_auth_method: 'none', redirect_uris };
const service = await startSignInService({ clients: [{ ...file, post_logout_redirect_uris: [`${app}/`] }] });
const client = await service.register({ redirect_uris, client_name: 'Night Rider' });
const browser = await launchBrowser();
afterAll(async () => {
  server.close();
  await browser.close();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

/** Where the app sends the browser. */
const begin = (path = '/signed-in'): string => service.authorizeUrl(client, newPkce(), { redirect_uri: app + path });
const heading = async (page: Page): Promise<string> => await page.getByRole('heading', { level: 1 }).innerText();
const pickFirst = async (page: Page): Promise<void> =>
  await page.getByRole('listitem').getByRole('button').first().click();
const click = async (page: Page, name: string): Promise<void> =>
  await page.getByRole('button', { name, exact: true }).click();

/** No script, as a rider may have it; the pages must not need any. */
const newPage = async () => await (await browser.newContext({ javaScriptEnabled: false })).newPage();

// docs/rules.md#consent
test('a callback may go on to another host, and to the app’s own scheme', async () => {
  const page = await newPage();
  const refused: string[] = [];
  page.on('console', (message) => void (/form-action/.test(message.text()) && refused.push(message.text())));
  await page.goto(begin('/elsewhere'));
  await pickFirst(page);
  await click(page, 'Allow');
  await page.waitForURL(/^http:\/\/localhost:\d+\//);
  await page.goto(begin('/to-scheme'));
  const bounced = page.waitForResponse((response) => response.url().includes('/to-scheme?code='));
  await click(page, 'Allow');
  expect((await bounced).status()).toBe(302);
  // No program owns the scheme here: the browser gave the address to the system, and the page stays.
  await expect.poll(() => heading(page)).toBe('One moment');
  expect(refused).toEqual([]);
  expect(new URL((await page.getByRole('link', { name: 'Go on' }).getAttribute('href'))!).origin).toBe(service.origin);
});

test('every page is readable, with its focus seen: dark and light, on a desk and on a narrow phone', async () => {
  const page = await newPage();
  const check = async (): Promise<void> => {
    for (const [colorScheme, width] of [['dark', 1000] as const, ['light', 320] as const]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect([await heading(page), await page.evaluate(poorContrast)]).toEqual([expect.any(String), []]);
      for (const target of await page.getByRole('button').all())
        expect((await target.boundingBox())!.height).toBeGreaterThanOrEqual(24);
    }
  };
  await page.goto(begin());
  await page.keyboard.press('Tab');
  expect(await page.locator(':focus').getAttribute('name')).toBe('rider');
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  await check();
  await page.getByLabel('Or give a rider’s id').fill('nobody');
  await click(page, 'Sign in');
  expect(await page.getByRole('alert').innerText()).toContain('There is no such rider');
  await check();
  await pickFirst(page);
  await page.getByRole('heading', { name: 'Let Night Rider' }).waitFor();
  await check();
  await click(page, 'Allow');
  await page.getByRole('heading', { name: 'Back in the app' }).waitFor();
  await page.goto(`${service.origin}/oauth/connected-apps`);
  await check();
  await page.goto(`${service.origin}/oauth/sign-out`);
  await check();
  await click(page, 'Sign out');
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await check();
  await page.goto(`${service.origin}/oauth/authorize?client_id=nobody`);
  await check();
});

declare const manager: UserManager;
const userOf = async (page: Page) =>
  (await page.evaluate(async () => {
    const user: User | null = await manager.getUser();
    return user && { access: user.access_token, refresh: user.refresh_token! };
  }))!;
const statusFor = async ({ access }: { access: string }) => (await nights(service.baseUrl, access)).status;

test('an app on oidc-client-ts signs in, reads, refreshes by itself, revokes and signs out, and the next person is asked who they are', async () => {
  const page = await browser.newPage();
  await page.goto(`${app}/`);
  void page.evaluate(() => manager.signinRedirect()).catch(() => undefined);
  await pickFirst(page);
  await click(page, 'Allow');
  await page.waitForURL(/\/signed-in\?code=/);
  await page.evaluate(() => manager.signinCallback());
  const first = await userOf(page);
  expect(await statusFor(first)).toBe(200);

  // automaticSilentRenew waits for its moment, which is brought forward: it is told that the token is near its end.
  const renewed = page.evaluate(
    () => new Promise<string>((resolve) => manager.events.addUserLoaded((user) => resolve(user.access_token))),
  );
  await page.evaluate(async () => {
    const user = (await manager.getUser())!;
    user.expires_in = 61;
    await manager.storeUser(user);
    await manager.events.load(user, false);
  });
  expect(await renewed).not.toBe(first.access);
  const second = await userOf(page);
  expect(await statusFor(second)).toBe(200);

  const { told } = service;
  told.length = 0;
  await page.evaluate(() => manager.revokeTokens());
  expect(told).toEqual([['grant_ended', { client: 'my-app', cause: 'revoked' }]]);
  expect((await service.refresh({ client_id: 'my-app' }, second.refresh)).body.error).toBe('invalid_grant');

  void page.evaluate(() => manager.signoutRedirect({ state: 'mine' })).catch(() => undefined);
  await page.getByText('My app asks you to sign out').waitFor();
  await click(page, 'Sign out');
  await page.waitForURL((url) => url.origin === app && url.searchParams.has('state'));
  await page.evaluate(() => manager.signoutCallback());
  expect(told.at(-1)).toEqual(['sign_out', { client: 'my-app' }]);
  void page.evaluate(() => manager.signinRedirect()).catch(() => undefined);
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
});
