import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, expect, it } from 'vitest';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { registerSignIn } from '../../../api/sign-in/routes/register-sign-in.ts';
import { createTokenChecker } from '../../../api/sign-in/tokens/token-checker.ts';
import { freePort } from '../../../infra/local/free-port.ts';
import { rider } from '../../reference/example-log.ts';
import { launchBrowser } from '../../support/processes/browser.ts';
import { startHttpService } from '../../support/processes/http-service.ts';
import { signInDeps } from '../../support/sign-in/sign-in-service.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

/** Finds what keeps people from reading a page, as a script for the page. */
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const deps = await signInDeps(`${origin}/api`);
const { baseUrl, keys } = deps;
await startHttpService({
  port,
  baseUrl,
  records: [...smallWorld.records, rider('rider-ada')],
  checker: createTokenChecker({ issuer: origin, audience: baseUrl, keys }),
  async register(app) {
    registerDocs(app, { baseUrl, sampleKey: smallWorld.liveKey, sample: { metro: 'pdx', day: '2015-06-13' } });
    await registerSignIn(app, { ...deps, who: { pickerAt: '127.0.0.1' } });
  },
});
const browser = await launchBrowser();
afterAll(() => browser.close());

it('the reference reads a day with the sample key, signs a rider in, asks no other host, and everybody can use it', {
  timeout: 300_000,
}, async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
  const page = await context.newPage();
  const asked: [url: string, credential: string | undefined][] = [];
  /** What it asks of other hosts, and what it complains of. */
  const strays: string[] = [];
  page.on('request', (request) => {
    const headers = request.headers();
    if (request.url().startsWith(`${baseUrl}/`))
      asked.push([request.url().slice(baseUrl.length), headers['x-api-key'] ?? headers.authorization?.slice(0, 9)]);
    else if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:')) strays.push(request.url());
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') strays.push(message.text());
  });
  page.on('pageerror', (error) => strays.push(error.message));

  /** What axe finds critical or serious: the rule and the place. */
  const barriers = async (): Promise<string[]> => {
    await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
    return await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations
      .filter(({ impact }) => impact === 'critical' || impact === 'serious')
      .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`);
  };
  const execute = async (operation: string): Promise<void> => {
    await page.click(`#operations-${operation} .opblock-summary-control`);
    await page.click(`#operations-${operation} .execute`);
    await page.waitForSelector(`#operations-${operation} .live-responses-table .response-col_status:text("200")`);
  };
  const isUsable = async (isDark: boolean): Promise<void> => {
    await page.waitForSelector(isDark ? 'html.dark-mode' : 'html:not(.dark-mode)');
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await barriers()).toEqual([]);
    await page.click('.btn.authorize');
    await page.waitForSelector('.modal-ux');
    expect(await barriers()).toEqual([]);
  };

  await page.goto(`${origin}/docs`);
  await page.waitForSelector('.opblock');
  // The first request's own answer, in place of the example.
  await page.waitForSelector('#answer:has-text("Loop")');
  expect(await page.textContent('.version')).toBe('2.1.0');
  await page.evaluate(axe);
  await execute('Calendar-getDay');
  expect(asked.at(-1)).toEqual(['/metros/pdx/days/2015-06-13', smallWorld.liveKey]);
  await isUsable(false);

  const section = page.locator('.auth-container').filter({ hasText: 'signIn' });
  expect(await section.getByLabel('client_id').inputValue()).toBe('docs');
  const opened = context.waitForEvent('page');
  await section.getByRole('button', { name: 'Authorize' }).click();
  const popup = await opened;
  await popup.getByRole('listitem').getByRole('button').first().click();
  const closed = popup.waitForEvent('close');
  await popup.getByRole('button', { name: 'Allow', exact: true }).click();
  await closed;
  await section.getByRole('button', { name: 'Logout' }).waitFor();
  await page.locator('.dialog-ux').getByRole('button', { name: /close/i }).last().click();
  await execute('Rider-getKnown');
  expect(asked.at(-1)).toEqual(['/me/known?metro=pdx&from=2015-06-13&to=2015-06-20', 'Bearer ey']);

  await page.setViewportSize({ width: 375, height: 900 });
  await page.emulateMedia({ colorScheme: 'dark' });
  await isUsable(true);
  expect(strays).toEqual([]);

  // By another name of this machine it leads to its own, to which signing in comes back. It says what it cannot read.
  await page.route('**/openapi.json', (route) => route.abort());
  await page.goto(`http://localhost:${port}/docs`);
  await page.waitForURL(`${origin}/docs`);
  await page.waitForSelector('.note:has-text("could not be read")');
});
