import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { launchBrowser, poorContrast } from '../../../support/processes/browser.ts';
import { Processes, type RunningService } from '../../../support/processes/process.ts';
import { authorizeUrl, type Client, register } from '../../../support/sign-in/sign-in-flow.ts';
import { newPkce } from '../../../support/sign-in/test-browser.ts';

let browser: Browser;
let service: RunningService;
const processes = new Processes();
let server: Server;
let callback: string;
let client: Client;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), processes.start('start')]);
  await service.printed('Ctrl-C');
  server = createServer((request, response) => {
    // As apps do whose site hands the answer on to the app itself.
    const bounce = /^\/bounce\/(\w+)/.exec(request.url!)?.[1];
    if (bounce === 'scheme') return void response.writeHead(302, { location: 'com.example.app:/signed-in' }).end();
    if (bounce === 'elsewhere') {
      const port = (server.address() as AddressInfo).port;
      return void response.writeHead(302, { location: `http://localhost:${port}/arrived` }).end();
    }
    response.setHeader('content-type', 'text/html');
    response.end('<title>App</title><h1>Back in the app</h1>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  callback = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`;
  const at = new URL(callback).origin;
  client = await register(service.origin, {
    redirect_uris: [callback, `${at}/bounce/scheme`, `${at}/bounce/elsewhere`],
    client_name: 'Night Rider',
  });
});
afterAll(async () => {
  server.close();
  await browser.close();
  await service.stop();
  await processes.close();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

/** Where the app sends the browser. */
const begin = (path = '/callback'): string =>
  authorizeUrl(service.origin, client, newPkce(), { redirect_uri: new URL(path, callback).href });
const heading = async (page: Page): Promise<string> => await page.getByRole('heading', { level: 1 }).innerText();
const pickFirst = async (page: Page): Promise<void> =>
  await page.getByRole('listitem').getByRole('button').first().click();
const click = async (page: Page, name: string): Promise<void> =>
  await page.getByRole('button', { name, exact: true }).click();

/** No script, as a rider may have it; the pages must not need any. */
const newPage = async (options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> =>
  await (await browser.newContext({ javaScriptEnabled: false, ...options })).newPage();

test('a rider goes all the way by keyboard', async () => {
  const page = await newPage();
  await page.goto(begin());
  await page.keyboard.press('Tab');
  expect(await page.locator(':focus').getAttribute('name')).toBe('rider');
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Let Night Rider' }).waitFor();
  const seen: string[] = [];
  for (let presses = 0; presses < 3; presses++) {
    await page.keyboard.press('Tab');
    seen.push(await page.locator(':focus').innerText());
    if (seen.at(-1) === 'Allow') break;
  }
  expect(seen).toEqual(['connected apps', 'Allow']);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Back in the app' }).waitFor();
  expect(new URL(page.url()).searchParams.has('code')).toBe(true);
  // Who goes back is not sent on again.
  await page.goBack();
  await page.getByRole('heading', { name: 'This sign-in is over' }).waitFor();
});

// docs/rules.md#consent
test.each([true, false])('a callback may go on to another host, script: %j', async (javaScriptEnabled) => {
  const page = await newPage({ javaScriptEnabled });
  await page.goto(begin('/bounce/elsewhere'));
  await pickFirst(page);
  await click(page, 'Allow');
  await page.waitForURL(/^http:\/\/localhost:\d+\/arrived/);
});

// docs/rules.md#consent
test('a callback may go on to the app’s own scheme', async () => {
  const page = await newPage();
  const failed: (string | undefined)[] = [];
  page.on('requestfailed', (request) => failed.push(request.failure()?.errorText));
  const refused: string[] = [];
  page.on('console', (message) => void (/form-action/.test(message.text()) && refused.push(message.text())));
  await page.goto(begin('/bounce/scheme'));
  await pickFirst(page);
  const bounced = page.waitForResponse((response) => response.url().includes('/bounce/scheme?code='));
  await click(page, 'Allow');
  expect((await bounced).status()).toBe(302);
  // No program owns the scheme here: the browser gave the address to the system, and the page stays.
  await expect.poll(() => heading(page)).toBe('One moment');
  expect(refused).toEqual([]);
  expect(new URL((await page.getByRole('link', { name: 'Go on' }).getAttribute('href'))!).origin).toBe(service.origin);
});

test('the reference at /docs signs a rider in and answers for them', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${service.origin}/docs`);
  await page.getByRole('button', { name: 'Authorize' }).first().click();
  const dialog = page.locator('.dialog-ux');
  const section = dialog.locator('.auth-container').filter({ hasText: 'signIn' });
  expect(await section.getByLabel('client_id').inputValue()).toBe('docs');
  const opened = context.waitForEvent('page');
  await section.getByRole('button', { name: 'Authorize' }).click();
  const popup = await opened;
  await pickFirst(popup);
  const closed = popup.waitForEvent('close');
  await popup.getByRole('button', { name: 'Allow', exact: true }).click();
  await closed;
  await section.getByRole('button', { name: 'Logout' }).waitFor();
  await dialog.getByRole('button', { name: /close/i }).last().click();
  const nights = page.locator('[id$="getMyNights"]');
  await nights.locator('.opblock-summary-control').click();
  const tryIt = nights.getByRole('button', { name: 'Try it out' });
  if (await tryIt.isVisible()) await tryIt.click();
  const answered = page.waitForResponse((response) => response.url().endsWith('/me/nights'));
  await nights.getByRole('button', { name: 'Execute' }).click();
  expect((await answered).status()).toBe(200);
});

test.each([
  ['dark', 1000],
  ['light', 320],
] as const)('every page is readable: %s, %i px wide', async (colorScheme, width) => {
  const page = await newPage({ colorScheme, viewport: { width, height: 800 } });
  const check = async (): Promise<void> => {
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    const poor = await page.evaluate(poorContrast);
    expect([await heading(page), poor]).toEqual([await heading(page), []]);
    for (const target of await page.getByRole('button').all())
      expect((await target.boundingBox())!.height).toBeGreaterThanOrEqual(24);
  };
  await page.goto(begin());
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
  await check();
  await page.goto(`${service.origin}/oauth/authorize?client_id=nobody`);
  await check();
});
