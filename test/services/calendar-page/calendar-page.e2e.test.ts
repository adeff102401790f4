import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launchBrowser } from '../../support/processes/browser.ts';
import { Processes, type RunningService } from '../../support/processes/process.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

/** The calendar page as a visitor meets it: in Chromium, on Portland's real rides and on the sample. */

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const processes = new Processes();
let browser: Browser;
let portland: RunningService;

const serve = async (env: Record<string, string>): Promise<RunningService> => {
  const service = await processes.start('start', env);
  await service.printed('Ctrl-C stops it.');
  return service;
};

beforeAll(async () => {
  [browser, portland] = await Promise.all([
    launchBrowser(),
    serve({ ARCHIVE_DIR: portlandDirectory, NOW: '2015-06-14T03:00:00Z', SIGN_IN: 'pick' }),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await processes.close();
});

/** A page, with what it complained of, and what it asked of other hosts. */
async function open(service: RunningService, search: string, options: BrowserContextOptions = {}, path = '/calendar') {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(service.origin)) complaints.push(request.url());
  });
  await page.goto(`${service.origin}${path}${search}`);
  await page.waitForSelector('article, .empty');
  return { page, complaints };
}

const heading = (page: Page): Promise<string | null> => page.textContent('h1');
const titles = (page: Page): Promise<string[]> => page.locator('article h3').allTextContents();
/** Waits until what follows an act is drawn. */
const shows = (page: Page, selector: string): Promise<unknown> => page.waitForSelector(selector);

/** What axe finds, whatever its weight. */
async function barriers(page: Page): Promise<string[]> {
  // The page's own policy lets nobody add scripts to it but the browser's driver.
  await page.evaluate(axe);
  return await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`);
}

describe('the calendar page on Portland’s rides', () => {
  it('is where / leads, shows tonight by the metro’s own date, goes to other days, a week and a ride, and Back', async () => {
    const { page, complaints } = await open(portland, '', {}, '/');
    expect(new URL(page.url()).pathname).toBe('/calendar');
    // At 03:00 UTC it is the day before.
    expect(await heading(page)).toBe('Today: Saturday, June 13');
    const asked = await page.locator('.requests code').first().textContent();
    expect(asked).toMatch(/^GET \/api\/metros\/portland\/days\/2015-06-13 → 200, \d+ bytes, \d+ ms$/);
    const tonight = await titles(page);
    await page.click('#after');
    await shows(page, '[id$="/2015-06-14"]');
    expect(await heading(page)).toBe('Tomorrow: Sunday, June 14');
    await page.click('#week');
    await shows(page, 'section:nth-of-type(7)');
    await page.click('article a >> nth=0');
    await shows(page, '.text');
    expect(page.url()).toContain('ride=');
    for (let i = 0; i < 3; i++) await page.goBack();
    await shows(page, '[id$="/2015-06-13"]');
    expect(await titles(page)).toEqual(tonight);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('keeps filters in the address: a shared link shows the same, ticked', async () => {
    const { page } = await open(portland, '?metro=portland&day=2015-06-13');
    const all = await titles(page);
    await page.click('summary');
    await page.check('#far input[value="5_to_10"]');
    await page.fill('#q', 'ride');
    await page.click('text=Search');
    await shows(page, '#parts:not([aria-busy])');
    const some = await titles(page);
    expect(some.length).toBeLessThan(all.length);
    const shared = await open(portland, new URL(page.url()).search);
    expect(await titles(shared.page)).toEqual(some);
    expect(await shared.page.isChecked('#far input[value="5_to_10"]')).toBe(true);
    expect(await shared.page.inputValue('#q')).toBe('ride');
    await shared.page.click('#clear');
    await shows(shared.page, '#parts:not([aria-busy])');
    expect(await titles(shared.page)).toEqual(all);
    expect(await shared.page.isVisible('#clear')).toBe(false);
    await shared.page.fill('#q', 'no such ride anywhere');
    await shared.page.press('#q', 'Enter');
    await shared.page.waitForSelector('.empty:text("No ride fits")');
    await Promise.all([page.close(), shared.page.close()]);
  });

  it.each([
    [360, 'dark'],
    [1280, 'light'],
  ] as const)('at %i pixels, %s, fits and is for everybody', async (width, colorScheme) => {
    for (const search of ['?metro=portland', '?view=week&day=2015-06-12', '?day=2015-01-01', '?ride=pp15r4935']) {
      const { page, complaints } = await open(portland, search, { viewport: { width, height: 800 }, colorScheme });
      await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(await barriers(page), search).toEqual([]);
      expect(complaints).toEqual([]);
      await page.close();
    }
  });
});

const night = {
  ride: 'abcd',
  title: '<img src=x onerror=alert(1)> 東京ナイトライド 🚲 '.padEnd(300, 'Straßenbahnfahrt'),
  day: '2015-06-13',
  meet_time: null,
  time_zone: 'America/Los_Angeles',
  status: 'cancelled',
  cancellation_reason: '<b>Storm</b>',
  past: true,
  going_count: 3,
  meeting: { withheld: true, place_name: null, neighbourhood: null, neighbourhood_slug: null },
  url: 'https://rides.example.org/abcd',
};

describe('the calendar page, whatever it is sent', () => {
  /** Opens tonight with answers of the test's own in place of the service's. */
  async function openWith(answer: () => { status?: number; headers?: Record<string, string>; json?: unknown }) {
    const page = await browser.newPage({ viewport: { width: 360, height: 800 } });
    await page.route('**/api/metros/**', (route) => {
      const { status = 200, headers = {}, json } = answer();
      return route.fulfill({ status, headers: { ETag: `"${Math.random()}"`, ...headers }, json });
    });
    await page.goto(`${portland.origin}/calendar?metro=portland`);
    return page;
  }
  const day = (nights: unknown[]) => ({ json: { metro: 'portland', day: '2015-06-13', nights } });

  it('shows a called-off night struck through, a secret place as such, and riders’ texts as text that turns nothing beside it', async () => {
    const turned = '\u202Eturned';
    const meeting = { withheld: false, place_name: turned, neighbourhood: turned, neighbourhood_slug: 'turned' };
    const other = { ...night, ride: 'efgh', title: turned, cancellation_reason: turned, meeting };
    const page = await openWith(() => day([night, other]));
    await shows(page, 'article.past');
    expect(await page.locator('article s').first().textContent()).toBe(night.title);
    expect(await page.locator('article .off').first().textContent()).toBe('Called off: <b>Storm</b>');
    expect(await page.locator('article .place').first().textContent()).toContain('Secret meeting point');
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    expect(await barriers(page)).toEqual([]);
    const isolated = `[...document.querySelectorAll('article *, label *')].filter(({ childNodes }) =>
      [...childNodes].some(({ nodeType, data }) => nodeType === 3 && data.includes('\u202E')))
      .map((each) => getComputedStyle(each).unicodeBidi)`;
    expect(await page.evaluate(isolated)).toEqual(Array(5).fill('isolate'));
    await page.close();
  });

  it('asks again every ten seconds, marks what changed, and keeps what a visitor typed, selected and reached', async () => {
    let going = 3;
    const page = await openWith(() =>
      day([
        { ...night, going_count: going },
        { ...night, ride: 'efgh' },
      ]),
    );
    await shows(page, 'article');
    await page.fill('#q', 'half a wo');
    await page.focus('.requests summary');
    await page.evaluate("getSelection().selectAllChildren(document.querySelector('[id^=efgh] .off'))");
    const again = page.waitForResponse('**/api/metros/**', { timeout: 30_000 });
    await page.evaluate("document.querySelector('code').textContent = ''");
    await again;
    await page.waitForSelector('code:not(:empty)', { state: 'attached' });
    expect(await page.inputValue('#q')).toBe('half a wo');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY');
    expect(await page.evaluate('getSelection().toString()')).toContain('Storm');
    going = 4;
    await page.waitForSelector('article.new', { timeout: 30_000 });
    expect(await page.locator('article.new .going').allTextContents()).toEqual(['4 were going']);
    expect(await page.textContent('#news')).toBe('These rides changed just now.');
    await page.close();
  });

  it('says a 503 in words, and asks again after Retry-After', async () => {
    let isAway = true;
    const page = await openWith(() =>
      isAway ? { status: 503, headers: { 'Retry-After': '2' }, json: {} } : day([night]),
    );
    await page.waitForSelector('#notice:has-text("cannot be read just now. Asking again in 2 seconds")');
    isAway = false;
    await shows(page, 'article');
    expect(await page.textContent('#notice')).toBe('');
    await page.close();
  });

  it('says which input the calendar does not take', async () => {
    const { page } = await open(portland, '?metro=portland');
    await page.goto(`${portland.origin}/calendar?metro=portland&where=No+Slug`);
    await page.waitForSelector('#notice:has-text("does not take this where")');
    await page.close();
  });
});

describe('the calendar page beside a log of one’s own', () => {
  it('says what to do without a developer key: sign in, or enter a key where nobody can', async () => {
    const answer = await fetch(`${portland.origin}/calendar/config.json`);
    const config = (await answer.json()) as { clientId: string };
    for (const [clientId, search, words] of [
      [null, '', 'Nobody can sign in here: please enter a developer key.'],
      [null, '&view=mine', 'Nobody can sign in here.'],
      [config.clientId, '', 'Please sign in first.'],
    ]) {
      const page = await browser.newPage();
      await page.route('**/config.json', (route) => route.fulfill({ json: { ...config, key: null, clientId } }));
      await page.goto(`${portland.origin}/calendar?metro=portland${search}`);
      await page.waitForSelector('#notice:has-text("i")');
      expect(await page.textContent('#notice')).toBe(words);
      expect(await page.isVisible('#key')).toBe(search === '');
      await page.close();
    }
  });
});

describe('the calendar page on the sample', () => {
  let sample: RunningService;
  beforeAll(async () => {
    sample = await serve({});
  });

  /** Signs in as the first rider who is offered, and comes back to the page. */
  async function signIn(page: Page): Promise<void> {
    await page.click('#account');
    await page.click('.riders button >> nth=0');
    await page.click('button[value=allow]');
    await page.waitForSelector('#account:has-text("Sign out")');
  }

  it('signs a rider in: why a night is theirs, friends who are going, flagged riders; and out again', async () => {
    const { page, complaints } = await open(sample, '?view=week');
    await signIn(page);
    expect(page.url()).toBe(`${sample.origin}/calendar?view=week`);
    await shows(page, '.own:has-text("are going")');
    await shows(page, '.own:has-text("★")');
    await shows(page, '.flag:has-text("You flagged")');
    expect(await page.locator('.requests >> nth=0 >> code').count()).toBe(4);
    // A ride's page shows of its nights what the week does.
    const card = page.locator('article:has(.own):has(.flag)').first();
    const seen = (of: Locator): Promise<string[]> => of.locator('.own, .flag').allTextContents();
    const [id, own] = [await card.getAttribute('id'), await seen(card)];
    await card.locator('a').click();
    await shows(page, '.text');
    expect(await seen(page.locator(`article[id="${id}"]`))).toEqual(own);
    await page.click('#mine');
    await shows(page, 'h2:has-text("Coming up")');
    await shows(page, '.own:has-text("You are going")');
    expect(await barriers(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.click('#account');
    await page.waitForURL('**/oauth/sign-out*');
    await page.click('main button');
    await page.waitForSelector('#account:has-text("Sign in")');
    expect(new URL(page.url()).pathname).toBe('/calendar');
    expect(await page.evaluate("sessionStorage.getItem('tokens')")).toBe(null);
    // Whoever sits there next says who they are.
    await page.click('#account');
    await page.waitForSelector('.riders');
    expect(new URL(page.url()).pathname).toContain('/oauth/');
    expect(await page.textContent('.riders')).not.toMatch(/\b1 (close friends|RSVPs|rides)\b/);
    await page.close();
  });

  it('refreshes a token before it ends, once for all that is asked meanwhile', async () => {
    const { page } = await open(sample, '');
    await signIn(page);
    await shows(page, 'article');
    const refreshes: string[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/oauth/token')) refreshes.push(request.postData() ?? '');
    });
    const edit = (change: string) =>
      page.evaluate(
        `sessionStorage.setItem('tokens', JSON.stringify({ ...JSON.parse(sessionStorage.getItem('tokens')), ${change} }))`,
      );
    await edit('endsMs: 0');
    await page.click('#week');
    await shows(page, 'section:nth-of-type(7)');
    expect(refreshes).toEqual([expect.stringContaining('grant_type=refresh_token')]);
    // So it does with one that is refused, as all are after a leaked signing key was replaced.
    await edit("access_token: 'x'");
    await page.click('#day');
    await shows(page, '#parts:not([aria-busy]) section:only-of-type');
    expect(refreshes).toHaveLength(2);
    expect(await page.textContent('#account')).toBe('Sign out');
    await page.close();
  });

  it('signs a duplicated tab out, says so, and leaves the first one signed in', async () => {
    const { page } = await open(sample, '');
    await signIn(page);
    await page.reload();
    await page.waitForSelector('#account:has-text("Sign out")');
    // As a duplicated tab, it starts with a copy of the storage.
    const [copy] = await Promise.all([page.waitForEvent('popup'), page.evaluate("void open('/calendar?view=week')")]);
    await copy.waitForSelector('#notice:has-text("This tab is a copy")');
    expect(copy.url()).toBe(`${sample.origin}/calendar?view=week`);
    expect(await copy.textContent('#account')).toBe('Sign in');
    await copy.click('#account');
    await copy.waitForSelector('#account:has-text("Sign out")');
    await Promise.all([copy.reload(), page.reload()]);
    for (const tab of [page, copy]) await tab.waitForSelector('#account:has-text("Sign out")');
    await page.close();
  });
});

describe('the calendar page of a rider whose sign-in ended', () => {
  it('shows what anybody may see, nothing of the rider’s, and says so', async () => {
    const { page } = await open(portland, '?metro=portland');
    await page.evaluate("sessionStorage.setItem('tokens', JSON.stringify({ access_token: 'x', endsMs: 9e15 }))");
    await page.click('#after');
    await page.waitForSelector('#news:has-text("not signed in any more")');
    expect(await page.locator('article').count()).toBeGreaterThan(0);
    expect(await page.locator('.own, .flag').count()).toBe(0);
    expect(await page.textContent('#account')).toBe('Sign in');
    expect(await page.isVisible('#key')).toBe(false);
    await page.close();
  });
});

describe('the files of the calendar page', () => {
  it('are its own origin’s alone, and let no inline script or style run', async () => {
    for (const path of ['/calendar', '/calendar/calendar.js', '/calendar/config.json']) {
      const { status, headers } = await fetch(portland.origin + path);
      expect(status).toBe(200);
      expect(headers.get('access-control-allow-origin')).toBe(null);
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('content-security-policy')).not.toContain('unsafe');
    }
  });
});
