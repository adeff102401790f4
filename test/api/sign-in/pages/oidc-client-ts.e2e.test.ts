import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { User, UserManager } from 'oidc-client-ts';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuditTrail } from '../../../../api/ports/audit-trail.ts';
import { launchBrowser } from '../../../support/processes/browser.ts';
import { refresh } from '../../../support/sign-in/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../../support/sign-in/sign-in-service.ts';

// An app of one page on oidc-client-ts, with the settings of docs/oidc-client-ts-example.js, as it comes.

const library = readFileSync(
  fileURLToPath(new URL('../../../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url)),
);
const settings = readFileSync(
  fileURLToPath(new URL('../../../../docs/oidc-client-ts-example.js', import.meta.url)),
  'utf8',
).replace(/^.*?export /s, '');

let browser: Browser;
let server: Server;
let service: TestService;
let app: string;
const told: Parameters<AuditTrail>[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/library.js') return void response.setHeader('content-type', 'text/javascript').end(library);
    const script = settings
      .replaceAll('http://127.0.0.1:8080', service.origin)
      .replaceAll('http://127.0.0.1:9999', app)
      .replace('const manager', 'const { UserManager } = oidc; window.manager');
    response.setHeader('content-type', 'text/html');
    response.end(`<title>App</title><h1>App</h1><script src="/library.js"></script><script>${script}</script>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  app = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { client_id: 'my-app', client_name: 'My app', token_endpoint_auth_method: 'none' };
  const addresses = { redirect_uris: [`${app}/signed-in`], post_logout_redirect_uris: [`${app}/`] };
  const audit: AuditTrail = (...event) => void told.push(event);
  [browser, service] = await Promise.all([
    launchBrowser(),
    startSignInService({ audit, clients: [{ ...client, ...addresses }] }),
  ]);
});
afterAll(async () => {
  server.close();
  await browser.close();
  await service.close();
});

declare const manager: UserManager;
const userOf = (page: Page) =>
  page.evaluate(async () => {
    const user: User | null = await manager.getUser();
    return user && { access: user.access_token, refresh: user.refresh_token! };
  });
const nightsOf = async (access: string) =>
  (await fetch(`${service.baseUrl}/me/nights`, { headers: { authorization: `Bearer ${access}` } })).status;

test('signs in, reads, refreshes by itself, revokes and signs out, and the next person is asked who they are', async () => {
  const page = await browser.newPage();
  await page.goto(`${app}/`);
  void page.evaluate(() => manager.signinRedirect()).catch(() => undefined);
  await page.getByRole('listitem').getByRole('button').first().click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.waitForURL(/\/signed-in\?code=/);
  await page.evaluate(() => manager.signinCallback());
  const first = (await userOf(page))!;
  expect(await nightsOf(first.access)).toBe(200);

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
  const second = (await userOf(page))!;
  expect(await nightsOf(second.access)).toBe(200);

  told.length = 0;
  await page.evaluate(() => manager.revokeTokens());
  expect(told).toEqual([['grant_ended', { client: 'my-app', cause: 'revoked' }]]);
  expect((await refresh(service.origin, { client_id: 'my-app' }, second.refresh)).body.error).toBe('invalid_grant');

  void page.evaluate(() => manager.signoutRedirect({ state: 'mine' })).catch(() => undefined);
  await page.getByText('My app asks you to sign out').waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL((url) => url.origin === app && url.searchParams.has('state'));
  await page.evaluate(() => manager.signoutCallback());
  expect(told.at(-1)).toEqual(['sign_out', { client: 'my-app' }]);
  void page.evaluate(() => manager.signinRedirect()).catch(() => undefined);
  await page.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();
});
