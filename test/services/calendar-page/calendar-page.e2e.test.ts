import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { launchBrowser } from '../../support/processes/browser.ts';
import { Processes, type RunningService } from '../../support/processes/process.ts';
import { testStack } from '../../support/processes/test-stack.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

/** The calendar page as a visitor meets it: in Chromium, on Portland's real rides. A visit has several looks: pages cost. */

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const open = testStack();
const processes = open.use(new Processes());
let browser: Browser;
let context: BrowserContext;
let service: RunningService;

beforeAll(async () => {
  const env = { ARCHIVE_DIR: portlandDirectory, NOW: '2015-06-14T03:00:00Z', SIGN_IN: 'pick' };
  browser = open.use(await launchBrowser());
  service = await processes.start('start', env);
  await service.printed('Ctrl-C stops it.');
  context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
});

/** A page, with what it complained of, and what it asked of other hosts. */
async function visit() {
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(service.origin)) complaints.push(request.url());
  });
  const open = async (path: string) => {
    await page.goto(service.origin + path);
    await page.waitForSelector('article, .empty');
  };
  return { page, complaints, open, [Symbol.asyncDispose]: () => page.close() };
}

const titles = (page: Page): Promise<string[]> => page.locator('article h3').allTextContents();
/** Waits until what follows an act is drawn. */
const shows = (page: Page, selector: string): Promise<unknown> => page.waitForSelector(selector, { timeout: 60_000 });
const fits = async (page: Page): Promise<boolean> =>
  ((await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number) <= 0;

/** What axe finds, whatever its weight. */
async function barriers(page: Page): Promise<string[]> {
  // The page's own policy lets nobody add scripts to it but the browser's driver.
  await page.evaluate(axe);
  return await page.evaluate(`axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`);
}

it('is where / leads, shows tonight by the metro’s own date, goes to other days, a week and a ride, and Back', async () => {
  await using visitor = await visit();
  const { page, open } = visitor;
  await open('/');
  expect(new URL(page.url()).pathname).toBe('/calendar');
  // At 03:00 UTC it is the day before.
  expect(await page.textContent('h1')).toBe('Today: Saturday, June 13');
  const asked = await page.locator('.requests code').first().textContent();
  expect(asked).toMatch(/^GET \/api\/metros\/portland\/days\/2015-06-13 → 200, \d+ bytes, \d+ ms$/);
  const tonight = await titles(page);
  await page.click('#after');
  await shows(page, '[id$="/2015-06-14"]');
  expect(await page.textContent('h1')).toBe('Tomorrow: Sunday, June 14');
  await page.click('#week');
  await shows(page, 'section:nth-of-type(7)');
  expect(await page.getAttribute('#after', 'href')).toContain('day=2015-06-21');
  await page.click('article a >> nth=0');
  await shows(page, '.text');
  expect(page.url()).toContain('ride=');
  for (let i = 0; i < 3; i++) await page.goBack();
  await shows(page, '[id$="/2015-06-13"]');
  expect(await titles(page)).toEqual(tonight);
  expect(visitor.complaints).toEqual([]);
});

it('keeps filters in the address: a shared link shows the same, ticked; says which input the calendar does not take', async () => {
  await using visitor = await visit();
  const { page, open } = visitor;
  await open('/calendar?metro=portland&day=2015-06-13');
  const all = await titles(page);
  await page.click('summary');
  await page.check('#far input[value="5_to_10"]');
  await page.fill('#q', 'ride');
  await page.click('text=Search');
  await shows(page, '#parts:not([aria-busy])');
  const some = await titles(page);
  expect(some.length).toBeLessThan(all.length);
  // What is typed goes with the next box.
  await page.fill('#q', 'taco');
  await page.check('#who input[value="General"]');
  await page.waitForURL('**q=taco*');
  await page.goBack();
  await shows(page, '#parts:not([aria-busy])');
  await open(`/calendar${new URL(page.url()).search}`);
  expect(await titles(page)).toEqual(some);
  expect(await page.isChecked('#far input[value="5_to_10"]')).toBe(true);
  expect(await page.inputValue('#q')).toBe('ride');
  await page.click('#clear');
  await shows(page, '#parts:not([aria-busy])');
  expect(await titles(page)).toEqual(all);
  await page.goto(`${service.origin}/calendar?metro=portland&where=No+Slug`);
  await shows(page, '#notice:has-text("does not take this where")');
  await open('/calendar?metro=nowhere&day=2015-02-30');
  expect(await page.textContent('#notice')).toBe('The link names a city and a day that the calendar does not have.');
  await open('/calendar?view=week&day=9999-12-31');
  expect([await page.textContent('#notice'), visitor.complaints]).toEqual(['', [expect.stringContaining('400')]]);
});

it('fits a phone, and is for everybody, dark or light', async () => {
  await using visitor = await visit();
  const { page, complaints, open } = visitor;
  for (const search of ['?view=week&day=2015-06-12', '?ride=pp15r4935', '?metro=portland']) {
    await open(`/calendar${search}`);
    await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      expect([search, width, await fits(page)]).toEqual([search, width, true]);
    }
    // A day has all that a week has.
    if (!search.includes('week')) expect([search, await barriers(page)]).toEqual([search, []]);
  }
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await barriers(page)).toEqual([]);
  expect(complaints).toEqual([]);
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

it('says a 503 in words, asks again, then every ten seconds: riders’ texts are text that turns nothing beside it, what changed is marked, and what a visitor typed, selected and reached stays', async () => {
  await using page = await context.newPage();
  await page.setViewportSize({ width: 360, height: 800 });
  let given: object[] | null = null;
  await page.route('**/api/metros/**', (route) => {
    if (given === null) return route.fulfill({ status: 503, headers: { 'Retry-After': '2' }, json: {} });
    const json = { metro: 'portland', day: '2015-06-13', nights: given };
    return route.fulfill({ headers: { ETag: `"${Math.random()}"` }, json });
  });
  await page.goto(`${service.origin}/calendar?metro=portland`);
  await shows(page, '#notice:has-text("cannot be read just now. Asking again in 2 seconds")');
  const turned = '\u202Eturned';
  const meeting = { withheld: false, place_name: turned, neighbourhood: turned, neighbourhood_slug: 'turned' };
  const other = { ...night, ride: 'efgh', title: turned, cancellation_reason: turned, meeting };
  given = [night, other];
  await shows(page, 'article.past');
  expect(await page.textContent('#notice')).toBe('');
  expect(await page.locator('article s').first().textContent()).toBe(night.title);
  expect(await page.locator('article .off').first().textContent()).toBe('Called off: <b>Storm</b>');
  expect(await page.locator('article .place').first().textContent()).toContain('Secret meeting point');
  expect([await fits(page), await barriers(page)]).toEqual([true, []]);
  const isolated = `[...document.querySelectorAll('article *, label *')].filter(({ childNodes }) =>
    [...childNodes].some(({ nodeType, data }) => nodeType === 3 && data.includes('\u202E')))
    .map((each) => getComputedStyle(each).unicodeBidi)`;
  expect(await page.evaluate(isolated)).toEqual(Array(5).fill('isolate'));

  await page.fill('#q', 'half a wo');
  await page.focus('.requests summary');
  await page.evaluate("getSelection().selectAllChildren(document.querySelector('[id^=abcd] .off'))");
  await page.evaluate("document.querySelector('code').textContent = ''");
  await page.waitForSelector('code:not(:empty)', { state: 'attached', timeout: 60_000 });
  expect(await page.inputValue('#q')).toBe('half a wo');
  expect(await page.evaluate('document.activeElement.tagName')).toBe('SUMMARY');
  expect(await page.evaluate('getSelection().toString()')).toContain('Storm');
  given = [{ ...night, going_count: 4 }, other];
  await shows(page, 'article.new');
  expect(await page.locator('article.new .going').allTextContents()).toEqual(['4 were going']);
  expect(await page.textContent('#news')).toBe('These rides changed just now.');
});

it('asks again ten seconds after an answer', async () => {
  // A clock is of all pages of a context.
  await using alone = await browser.newContext();
  const page = await alone.newPage();
  await page.clock.install();
  let asked = 0;
  await page.route('**/api/metros/**', (route) => {
    asked++;
    return route.continue();
  });
  await page.goto(`${service.origin}/calendar?metro=portland`);
  await shows(page, 'article');
  await page.evaluate("document.querySelector('code').textContent = ''");
  await page.clock.pauseAt(Date.now() + 3_600_000);
  await page.waitForSelector('code:not(:empty)', { state: 'attached', timeout: 60_000 });
  const before = asked;
  await page.clock.runFor(9_999);
  expect(asked).toBe(before);
  await page.clock.runFor(1);
  await expect.poll(() => asked).toBe(before + 1);
});

it('has modules to copy: what they say of days, nights and faults, and that asking again costs a 304', async () => {
  await using visitor = await visit();
  const { page, open } = visitor;
  await open('/calendar');
  const inPage = (code: string): Promise<unknown> => page.evaluate(`(async () => { ${code} })()`);
  const days = await inPage(`
    const { dayInWords, isDay } = await import('/calendar/dates.js');
    const words = (day) => dayInWords(day, '2015-06-13');
    return [words('2015-06-12'), words('2016-01-01'), isDay('2015-02-28'), isDay('2015-02-30')];`);
  expect(days).toEqual(['Yesterday: Friday, June 12', 'Friday, January 1 2016', true, false]);
  const cards = await inPage(`
    const { nightCard, inTime } = await import('/calendar/nights.js');
    const friends = [...'abcdefg'].map((handle) => ({ handle, name: null }));
    const card = nightCard({ past: true, going_count: 1, meeting: {} }, { own: { why: 'saved', friends } });
    const nights = [1, 2, 3].map((n) => ({ night: { n, past: n < 3 } }));
    const order = inTime(nights, [], []).flatMap(({ nights }) => nights.map(({ night }) => night.n));
    return [...[...card.querySelectorAll('p, h3')].map(({ textContent }) => textContent), order];`);
  const friends = '@a, @b, @c, @d, @e, and 2 more are going';
  const own = ['You saved it', friends, '1 were going', [3, 2, 1]];
  expect(cards).toEqual(['–', 'Ride without a title', 'Meeting point not given', ...own]);
  await page.route('**/rides/busy', (route) => route.fulfill({ status: 429, headers: { 'Retry-After': '7' } }));
  const asked = await inPage(`
    const { createApi } = await import('/calendar/api.js');
    const { baseUrl, key } = await (await fetch('/calendar/config.json')).json();
    const get = createApi(baseUrl, async (isOther) => ({ 'X-Api-Key': isOther ? 'other' : key }));
    const fault = (...asked) => get(...asked).catch(({ message, status, retryAfter }) => [message, status, retryAfter]);
    const [first, again] = [await get('/rides/pp15r4935'), await get('/rides/pp15r4935')];
    const faults = [await fault('/rides/nosuch'), await fault('/rides/busy'), await fault('/me/nights', {}, true)];
    return [again.request, first.answer.title === again.answer.title, ...faults];`);
  expect(asked).toEqual([
    expect.stringMatching(/ → 304, 0 bytes, /),
    true,
    ['The calendar has no such city, or no such ride any more.', 404, null],
    ['The calendar answered with status 429.', 429, 7],
    ['The calendar does not know this key.', 401, null],
  ]);
});

it('signs nobody in by a link that it did not ask for, of another server, or where the rider said no; localhost is led to its one address', async () => {
  await using page = await context.newPage();
  const posted: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && posted.push(request.url()));
  await page.goto(`${service.origin.replace('127.0.0.1', 'localhost')}/calendar?metro=portland`);
  await page.waitForURL(`${service.origin}/calendar?metro=portland`);
  await shows(page, 'article');
  const back = '?metro=portland&day=2015-06-12';
  const led = async (query: string) => {
    await page.evaluate(`sessionStorage.setItem('asked', '{"state":"ours","verifier":"v","back":"${back}"}')`);
    await page.goto(`${service.origin}/calendar?${query}`);
    await shows(page, 'article');
    return [new URL(page.url()).search, await page.textContent('#notice'), await page.textContent('#account')];
  };
  expect(await led('state=other&code=c')).toEqual(['', '', 'Sign in']);
  expect(await led('state=ours&error=access_denied')).toEqual([back, 'You are not signed in.', 'Sign in']);
  const failed = [back, 'Signing in did not work. Try again.', 'Sign in'];
  expect(await led('state=ours&code=c&iss=https://other.example')).toEqual(failed);
  expect(posted).toEqual([]);
});

it('beside a log of one’s own asks for a developer key where nobody can sign in', async () => {
  const answer = await fetch(`${service.origin}/calendar/config.json`);
  const config = (await answer.json()) as { key: string; metros: object[] };
  const metros = [...config.metros, { slug: 'long', name: 'A long name of a city '.repeat(9), zone: 'UTC' }];
  await using page = await context.newPage();
  await page.route('**/config.json', (route) =>
    route.fulfill({ json: { ...config, metros, key: null, clientId: null } }),
  );
  await page.goto(`${service.origin}/calendar?metro=portland`);
  await shows(page, '#notice:has-text("Nobody can sign in here: please enter a developer key.")');
  await page.fill('#own-key', config.key);
  await page.press('#own-key', 'Enter');
  await shows(page, 'article');
  await page.setViewportSize({ width: 360, height: 800 });
  expect(await fits(page)).toBe(true);
});

it('signs a rider in, and out again: why a night is theirs, friends who are going, flagged riders', async () => {
  await using visitor = await visit();
  const { page, complaints, open } = visitor;
  const isIn = () => shows(page, '#account:has-text("Sign out")');
  await open('/calendar?view=week');
  await page.click('#account');
  await page.click('.riders button >> nth=0');
  await page.click('button[value=allow]');
  await isIn();
  expect(page.url()).toBe(`${service.origin}/calendar?view=week`);
  await shows(page, '.own:has-text("are going")');
  await shows(page, '.own:has-text("★")');
  await shows(page, '.flag:has-text("You flagged")');
  expect(await page.locator('.requests >> nth=0 >> code').count()).toBe(4);
  await page.click('#mine');
  await shows(page, 'h2:has-text("Coming up")');
  await shows(page, '.own:has-text("You are going")');
  expect(await barriers(page)).toEqual([]);
  expect(complaints).toEqual([]);

  // A token is refreshed half a minute before it ends, once for all that is asked meanwhile.
  const refreshes: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/oauth/token')) refreshes.push(request.postData() ?? '');
  });
  await page.evaluate(
    "sessionStorage.setItem('tokens', JSON.stringify({ ...JSON.parse(sessionStorage.getItem('tokens')), endsMs: Date.now() + 29_000 }))",
  );
  // A reply that is lost is asked for again, by the same token.
  let lost = 1;
  await page.route('**/oauth/token', async (route) => {
    if (lost-- <= 0) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await page.click('#week');
  await shows(page, 'section:nth-of-type(7)');
  expect(refreshes).toEqual(Array(2).fill(expect.stringContaining('grant_type=refresh_token')));
  expect(refreshes[1]).toBe(refreshes[0]);
  expect(await page.textContent('#account')).toBe('Sign out');

  // A ride's nights are marked as far as the API looks ahead.
  await page.click('article a >> nth=0');
  await page.waitForSelector('code:has-text("from=2015-06-13&to=2015-07-14")', { state: 'attached', timeout: 60_000 });

  // A duplicated tab starts with a copy of the storage. It is signed out, says so, and leaves the first one signed in.
  const [copy] = await Promise.all([page.waitForEvent('popup'), page.evaluate("void open('/calendar?view=week')")]);
  await shows(copy, '#notice:has-text("This tab is a copy")');
  await shows(copy, '#account:has-text("Sign in")');
  await copy.close();
  await page.reload();
  await isIn();

  // A sign-in that has ended leaves what anybody may see, nothing of the rider's, and is said.
  await page.evaluate("sessionStorage.setItem('tokens', JSON.stringify({ access_token: 'x', endsMs: 9e15 }))");
  await page.click('#day');
  await shows(page, '#news:has-text("not signed in any more")');
  expect(await page.locator('article').count()).toBeGreaterThan(0);
  expect(await page.locator('.own, .flag').count()).toBe(0);
  await page.click('#account');
  await isIn();

  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.click('#account');
  await page.waitForURL('**/oauth/sign-out*');
  expect(asked).toContain(`${service.origin}/oauth/revoke`);
  await page.click('main button');
  await shows(page, '#account:has-text("Sign in")');
  expect(new URL(page.url()).pathname).toBe('/calendar');
  expect(await page.evaluate("sessionStorage.getItem('tokens')")).toBe(null);
  // Whoever sits there next says who they are.
  await page.click('#account');
  await shows(page, '.riders');
  expect(asked.find((url) => url.includes('/oauth/authorize?'))).toContain('prompt=login');
  expect(new URL(page.url()).pathname).toContain('/oauth/');
});

it('has files that are its own origin’s alone, and let no inline script or style run', async () => {
  for (const path of ['/calendar', '/calendar/calendar.js', '/calendar/config.json']) {
    const { status, headers } = await fetch(service.origin + path);
    expect(status).toBe(200);
    expect(headers.get('access-control-allow-origin')).toBe(null);
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
    expect(headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'");
  }
  const { status, headers } = await fetch(`${service.origin}/calendar/`, { redirect: 'manual' });
  expect([status, headers.get('location')]).toEqual([308, '../calendar']);
});
