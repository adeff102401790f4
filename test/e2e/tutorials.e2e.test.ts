import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';
import { launchBrowser } from '../support/processes/browser.ts';
import { Checkout, Guide } from '../support/processes/guide.ts';
import { Processes, type RunningService, root } from '../support/processes/process.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { listening } from '../support/servers/listening.ts';

// The guides for those who build on the API, as they are pasted: what they run, and what they say comes back.

const open = testStack();
const processes = open.use(new Processes());
const checkout = open.use(new Checkout());
let service: RunningService;
let started: Record<string, string>;
beforeAll(async () => {
  service = await processes.start(['start', '--json']);
  await service.printed(/"token":"/);
  started = JSON.parse(service.out());
  symlinkSync(join(root, 'node_modules'), join(checkout.dir, 'node_modules'));
});

const calledOff = {
  title: 'Donut <Ride>',
  meet_time: '19:00',
  status: 'cancelled',
  cancellation_reason: 'Ice & <snow>',
  past: false,
  going_count: 4,
  meeting: { withheld: true, place_name: null, neighbourhood: 'Kenton' },
  url: 'https://rides.example.org/a',
};

describe('the tutorial of a website', () => {
  const guide = new Guide('tutorial-website.md');
  const set = (): string => `KEY=${started.developerKey}\nAPI=${service.api}\n`;

  it('asks for a night of the shape that it shows, with filters that are taken, and a 304 for an ETag', async () => {
    const asking = guide.shell('curl');
    expect(asking).toHaveLength(3);
    const fail = asking.map((block) => block.replaceAll('curl -H', 'curl -sfw "\\n" -H')).join('');
    const lines = (await checkout.bash(set() + fail)).trimEnd().split('\n');
    const [tonight, searched, filtered, status] = lines;
    expect(status!.trim()).toBe('HTTP/1.1 304 Not Modified');
    const [shown] = guide.blocks('json').map((block) => JSON.parse(block));
    const { nights, ...day } = JSON.parse(tonight!);
    expect(Object.keys(day)).toEqual(['metro', 'day']);
    expect(Object.keys(nights[0])).toEqual(Object.keys(shown.nights[0]));
    expect(Object.keys(nights[0].meeting)).toEqual(Object.keys(shown.nights[0].meeting));
    for (const answer of [searched!, filtered!]) expect(JSON.parse(answer).nights).toBeInstanceOf(Array);
  });

  it('starts the example’s website, which shows 30 days, and is sent what did not change only once', async () => {
    const start = guide.shell('docs/website-example.js')[0]!.replace('docs/', join(root, 'docs/'));
    const PORT = String(await freePort());
    const tonight = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Los_Angeles' }).format();
    const pulls = new RegExp(`^30 days from ${tonight}, 30 changed\n30 days from ${tonight}, 0 changed$`, 'm');
    await checkout.serve(set() + start, pulls, { PORT, EVERY_MS: '300' });
    const page = await (await fetch(`http://127.0.0.1:${PORT}/`)).text();
    expect(page.split('<li').length).toBeGreaterThan(30);
  });

  it('shows a called-off night struck through and texts as text, and goes on after a day that fails', async () => {
    const asked: string[] = [];
    const calendar = createServer((request, response) => {
      const day = request.url!.split('/').at(-1)!;
      asked.push(day);
      if (day === '2015-06-14') response.writeHead(503, { 'Retry-After': '60' }).end();
      else response.end(JSON.stringify({ metro: 'portland', day, nights: [calledOff] }));
    });
    using listens = await listening(calendar);
    const PORT = String(await freePort());
    const run = `KEY=k node ${root}docs/website-example.js ${listens.url} portland America/Los_Angeles 2015-06-13 2>&1`;
    const settings = { PORT, EVERY_MS: '50', DAYS: '3' };
    const said = await checkout.serve(run, /(?: days from [\s\S]*?){8}/, settings);
    const page = await (await fetch(`http://127.0.0.1:${PORT}/`)).text();
    expect(page).toContain('<s><a href="https://rides.example.org/a">Donut &lt;Ride></a></s>');
    expect(page).toContain('Called off: Ice &amp; &lt;snow>');
    expect(page).toContain('Secret meeting point · Kenton · 4 going');
    expect(page).toContain('Not known yet');
    expect(said).toContain('Not pulled: 2015-06-14: 503');
    // The day that fails is not asked for again before Retry-After.
    const times = (day: string) => asked.filter((each) => each === day).length;
    expect(times('2015-06-15')).toBeGreaterThanOrEqual(8);
    expect(times('2015-06-14')).toBe(1);
  });

  it('has a typed client that gets an answer', async () => {
    const program = guide.blocks('ts')[0]!.replace('http://127.0.0.1:8080/api', service.api);
    writeFileSync(join(checkout.dir, 'days.mts'), program);
    const [run] = guide.shell('node days.mts');
    const tonight = started.day!.slice(-10);
    expect(await checkout.bash(`${set()}TONIGHT=${tonight}\n${run}`)).toMatch(/^200 \d+\n$/);
  });

  it('has no other shell blocks but what fetches packages, and what was set here; and names the sample’s metros', async () => {
    expect(guide.unrun()).toEqual([
      'npm ci && npm start',
      expect.stringContaining('KEY=rck_…'),
      expect.stringContaining('npm install openapi-fetch'),
    ]);
    const { metros } = (await (await fetch(`${service.origin}/calendar/config.json`)).json()) as {
      metros: { slug: string; zone: string }[];
    };
    const named = [...guide.text.matchAll(/`([a-z]+)`\s\(([A-Z]\w+\/\w+)\)/g)].map(([, ...named]) => named);
    expect(named).toEqual(metros.map(({ slug, zone }) => [slug, zone]));
  });
});

describe('the tutorial of a rider’s app', () => {
  const guide = new Guide('tutorial-rider-app.md');
  let browser: Browser;
  beforeAll(async () => {
    browser = open.use(await launchBrowser());
  });

  it('asks for all that a rider’s app can', async () => {
    const asking = guide
      .shell('$API/me/known')[0]!
      .replace(/^TOKEN=.*$/m, `TOKEN=${started.token}`)
      .replace(/^API=.*$/m, `API=${service.api}`)
      .replaceAll('curl', 'curl -sfw "\\n"');
    const answers = (await checkout.bash(asking)).trimEnd().split('\n');
    expect(answers).toHaveLength(4);
    for (const answer of answers) expect(JSON.parse(answer).nights.length).toBeGreaterThan(0);
  });

  it('makes a page on which a rider signs in, sees their nights and friends, and signs out', async () => {
    const port = await freePort();
    const here = (text: string): string =>
      text.replaceAll('http://127.0.0.1:8080', service.origin).replaceAll('9999', String(port));
    const copy = guide.shell('mkdir')[0]!.replaceAll(/services\/|docs\//g, (folder) => root + folder);
    const answer = await checkout.bash(copy + here(guide.shell('oauth/register')[0]!).replace('curl', 'curl -s'));
    const { client_id } = JSON.parse(answer);
    const page = join(checkout.dir, 'my-app/index.html');
    writeFileSync(page, here(readFileSync(page, 'utf8')).replace('CLIENT_ID', client_id));
    await checkout.serve(here(guide.shell('http.server')[0]!).replace('python3', 'python3 -u'), /Serving HTTP/);

    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${port}/`);
    await tab.click('#in');
    await tab.getByLabel('rider’s id').fill(started.rider!);
    await tab.getByRole('button', { name: 'Sign in', exact: true }).click();
    await tab.getByRole('button', { name: 'Allow', exact: true }).click();
    await tab.waitForSelector('#mine li');
    await tab.waitForSelector('#friends li');
    expect(await tab.textContent('#mine li')).toMatch(/^\d{4}-\d\d-\d\d .+ \((led|going|ridden|saved)\)$/);
    const days = (await tab.locator('#friends li').allTextContents()).map((line) => line.slice(0, 10));
    expect(days).toEqual(days.toSorted());
    expect(tab.url()).toBe(`http://127.0.0.1:${port}/`);
    await tab.click('#out');
    // The app's own button has the same name until the browser has left its page.
    await tab.waitForURL('**/oauth/sign-out*');
    await tab.getByRole('button', { name: 'Sign out', exact: true }).click();
    await tab.getByRole('link', { name: 'Go on to' }).click();
    await tab.waitForSelector('#in:visible');
    expect(await tab.textContent('#problem')).toBe('');
    // Somebody else at this computer is asked who they are.
    await tab.click('#in');
    await tab.getByRole('heading', { name: 'Sign in', exact: true }).waitFor();

    // That the service does not answer is said.
    await tab.route(`${service.origin}/**`, (route) => route.abort());
    await tab.goto(`http://127.0.0.1:${port}/`);
    await tab.click('#in');
    await tab.waitForSelector('#problem:has-text("Try again in a minute")');
    expect(guide.unrun()).toEqual([]);
  });
});

describe('the example of times of nights', async () => {
  const { isToCome, instantOf } = await import(`${root}docs/night-times-example.js`);
  const zone = (day: string, meet_time: string | null, time_zone: string) => ({ day, meet_time, time_zone });

  it.each([
    ['2026-11-26', '19:00', '2026-11-27T02:59:00Z', true],
    ['2026-11-26', '19:00', '2026-11-27T03:01:00Z', false],
    ['2026-11-26', null, '2026-11-27T07:59:00Z', true],
    ['2026-11-26', null, '2026-11-27T08:00:00Z', false],
    ['2026-11-27', '00:30', '2026-11-27T07:59:00Z', true],
  ])('a night in Portland of %s at %s is to come at %s: %s', (day, time, now, expected) => {
    expect(isToCome(zone(day, time, 'America/Los_Angeles'), new Date(now))).toBe(expected);
  });

  it.each([
    ['2026-06-13', '19:00', 'Asia/Kolkata', '2026-06-13T13:30:00Z'],
    // Skipped, and its neighbours.
    ['2026-03-08', '01:59', 'America/Los_Angeles', '2026-03-08T09:59:00Z'],
    ['2026-03-08', '02:30', 'America/Los_Angeles', '2026-03-08T10:30:00Z'],
    ['2026-03-08', '03:00', 'America/Los_Angeles', '2026-03-08T10:00:00Z'],
    // Twice.
    ['2026-11-01', '01:30', 'America/Los_Angeles', '2026-11-01T08:30:00Z'],
    ['2026-04-05', '02:30', 'Australia/Melbourne', '2026-04-04T15:30:00Z'],
  ])('the instant of %s %s in %s is %s', (day, time, name, expected) => {
    expect(instantOf(zone(day, time, name))).toBe(Date.parse(expected));
  });
});

describe('the service as a mock', () => {
  const guide = new Guide('mock.md');
  const here = (script: string): string => script.replaceAll('node services/', `${process.execPath} ${root}services/`);
  const asked = async (script: string) =>
    JSON.parse(
      await checkout.serve(here(script), /"token":".*\n/, { PORT: String(await freePort()), DATA_DIR: checkout.dir }),
    );

  it('starts in the background of a script, which goes on once it serves, and ends it', async () => {
    const start = here(guide.shell('SERVICE=$!')[0]!.replace('npm ci --omit=dev\n', ''));
    const port = await freePort();
    const out = await checkout.bash(`export PORT=${port}\n${start}\ncat started.json\nkill $SERVICE\nwait $SERVICE`);
    expect(JSON.parse(out)).toMatchObject({ baseUrl: `http://127.0.0.1:${port}/api` });
    await expect(fetch(`http://127.0.0.1:${port}/readyz`)).rejects.toThrow();
  });

  it('prints what the guide shows, on data of a seed', async () => {
    expect(Object.keys(JSON.parse(guide.blocks('json')[0]!))).toEqual(Object.keys(started));
    const [make, start] = guide.shell('simulate')[0]!.split('ARCHIVE_DIR');
    await checkout.bash(make!);
    const plain = await asked(`ARCHIVE_DIR${start}`);
    expect(plain.day).toMatch(/\/days\/2026-06-1\d$/);
  });

  it('serves a fixture of one’s own, with a key and its riders; no other shell block but one that starts alike, and one that fetches', async () => {
    const [make, start] = guide.shell('records publish')[0]!.replace('docs/', `${root}docs/`).split('ARCHIVE_DIR');
    await checkout.bash(make!);
    const { baseUrl, developerKey, token, day, rider } = await asked(`ARCHIVE_DIR${start}`);
    expect(rider).toBe('u_ada');
    const get = async (path: string, headers: Record<string, string>) => (await fetch(path, { headers })).json();
    expect(await get(day, { 'X-Api-Key': developerKey })).toMatchObject({ nights: [{ ride: 'taco', going_count: 1 }] });
    const range = 'metro=portland&from=2026-11-24&to=2026-11-24';
    expect(await get(`${baseUrl}/me/known?${range}`, { Authorization: `Bearer ${token}` })).toMatchObject({
      nights: [{ ride: 'taco', names: [{ handle: 'bo' }] }],
    });
    expect(guide.unrun()).toEqual([
      expect.stringContaining('--rider RIDER'),
      expect.stringContaining('npx @stoplight/prism-cli mock'),
    ]);
  });
});
