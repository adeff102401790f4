import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import Fastify from 'fastify';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { registerDocs } from '../../../api/openapi/docs.ts';
import { openApiDocument } from '../../../api/openapi/openapi.ts';
import { answerExamples } from '../../../api/openapi/openapi-examples.ts';
import { freePort } from '../../../infra/local/free-port.ts';
import { launchBrowser } from '../../support/processes/browser.ts';

/** The reference in a real browser, beside stand-ins of the routes that it tries. */

/** Finds what keeps people from reading a page, as a script for the page. */
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const sampleKey = `rck_${'s'.repeat(43)}`;

const app = Fastify();
const origin = `http://127.0.0.1:${await freePort()}`;
/** What the stand-ins were asked. */
const asked: { url: string; key: unknown }[] = [];
app.addHook('preHandler', async ({ url, headers }) => {
  if (!url.startsWith('/docs')) asked.push({ url, key: headers['x-api-key'] });
});
app.get('/api/openapi.json', () => openApiDocument(`${origin}/api`));
app.get('/api/metros/:metro/days/:day', () => ({ ...answerExamples.Day, metro: 'here' }));
app.get('/api/me/known', () => ({ nights: [] }));
const baseUrl = `${origin}/api`;
registerDocs(app, { baseUrl, sampleKey, sample: { day: '2026-06-13' } });

let browser: Browser;
beforeAll(async () => {
  await app.listen({ port: Number(new URL(origin).port) });
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await app.close();
});

/** The page, once there; collects what it asks of other hosts and what it complains of. */
async function open(width: number, colorScheme: 'light' | 'dark'): Promise<{ page: Page; strays: string[] }> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
  const strays: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('data:')) strays.push(request.url());
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') strays.push(message.text());
  });
  page.on('pageerror', (error) => strays.push(error.message));
  await page.goto(`${origin}/docs`);
  await page.waitForSelector('.opblock');
  // The first request's own answer, in place of the example.
  await page.waitForSelector('#answer:has-text("here")');
  return { page, strays };
}

/** What axe finds critical or serious, as a list of the rule and the place. */
async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations
    .filter(({ impact }) => impact === 'critical' || impact === 'serious')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`);
}

async function execute(page: Page, operation: string): Promise<void> {
  await page.click(`#operations-${operation} .opblock-summary-control`);
  await page.click(`#operations-${operation} .execute`);
  await page.waitForSelector(`#operations-${operation} .live-responses-table`);
}

it.each([
  [1280, 'light'],
  [375, 'dark'],
] as const)(
  'at %i pixels, %s, reads a day with the sample key, asks no other host, and everybody can use it',
  async (width, scheme) => {
    const { page, strays } = await open(width, scheme);
    asked.length = 0;
    await execute(page, 'Calendar-getDay');
    await execute(page, 'Rider-getKnown');
    expect(asked).toMatchObject([
      { url: '/api/metros/portland/days/2026-06-13', key: sampleKey },
      { url: '/api/me/known?metro=portland&from=2026-06-13&to=2026-06-20' },
    ]);
    expect(await page.textContent('.version')).toBe('2.1.0');
    const isDark = await page.evaluate('document.documentElement.classList.contains("dark-mode")');
    expect(isDark).toBe(scheme === 'dark');
    const background = (selector: string): Promise<string> =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
    expect(await background('.execute')).toBe(await background('.opblock-summary-method'));
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await barriers(page)).toEqual([]);
    await page.click('.btn.authorize');
    await page.waitForSelector('.modal-ux');
    expect(await barriers(page)).toEqual([]);
    expect(strays).toEqual([]);
    await page.close();
  },
);
