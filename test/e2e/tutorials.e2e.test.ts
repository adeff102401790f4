import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';
import { launchBrowser } from '../support/processes/browser.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';

// The guides for those who build on the API, as they are pasted: what they run, and what they say comes back.

const root = fileURLToPath(new URL('../..', import.meta.url));
const blocks = (guide: string, language: string): string[] =>
  [...readFileSync(join(root, 'docs', guide), 'utf8').matchAll(/^```(\w+)\n(.*?)^```/gms)]
    .filter(([, of]) => of === language)
    .map(([, , text]) => text!);
const blockWith = (guide: string, language: string, words: string): string =>
  blocks(guide, language).find((block) => block.includes(words))!;

const processes = new Processes();
const endings: (() => void)[] = [];
let service: RunningService;
let started: Record<string, string>;
let dir: string;
beforeAll(async () => {
  service = await processes.start(['start', '--json']);
  await service.printed(/"token":"/);
  started = JSON.parse(service.out());
  // What looks as a checkout does to the commands.
  dir = await processes.folder();
  mkdirSync(join(dir, 'bin'));
  const npx = `#!/bin/sh\nshift\nexec "${process.execPath}" "${root}services/ride-calendar.js" "$@"\n`;
  writeFileSync(join(dir, 'bin/npx'), npx, { mode: 0o755 });
});
afterAll(async () => {
  for (const end of endings) end();
  await processes.close();
});

const env = (): NodeJS.ProcessEnv => ({ PATH: `${join(dir, 'bin')}:${process.env.PATH}`, LOG_LEVEL: 'silent' });
const bash = async (script: string): Promise<string> =>
  (await promisify(execFile)('bash', ['-euc', script], { cwd: dir, env: env(), timeout: 60_000 })).stdout;

/** Runs a command that serves until it has printed something, and goes on running it; what it printed. */
async function serve(script: string, until: RegExp, more: NodeJS.ProcessEnv = {}): Promise<string> {
  const options = { cwd: dir, env: { ...env(), ...more }, detached: true };
  const child = spawn('bash', ['-euc', script], options);
  endings.push(() => child.exitCode ?? process.kill(-child.pid!, 'SIGKILL'));
  let [out, err] = ['', ''];
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  // It is heard on: what prints into a closed pipe ends.
  const ended = once(child, 'close');
  while (!until.test(out) && child.exitCode === null) await Promise.race([once(child.stdout, 'data'), ended]);
  expect(out || err).toMatch(until);
  return out;
}

describe('the tutorial of a website', () => {
  const guide = 'tutorial-website.md';
  const set = (): string => `KEY=${started.developerKey}\nAPI=${service.api}\n`;

  it('asks for a night of the shape that it shows, with filters that are taken, and a 304 for an ETag', async () => {
    const asking = blocks(guide, 'sh').filter((block) => block.includes('curl'));
    expect(asking).toHaveLength(3);
    const fail = asking.map((block) => block.replaceAll('curl -H', 'curl -sfw "\\n" -H')).join('');
    const lines = (await bash(set() + fail)).trimEnd().split('\n');
    const [tonight, searched, filtered, status] = lines;
    expect(status!.trim()).toBe('HTTP/1.1 304 Not Modified');
    const [shown] = blocks(guide, 'json').map((block) => JSON.parse(block));
    const { nights, ...day } = JSON.parse(tonight!);
    expect(Object.keys(day)).toEqual(['metro', 'day']);
    expect(Object.keys(nights[0])).toEqual(Object.keys(shown.nights[0]));
    expect(Object.keys(nights[0].meeting)).toEqual(Object.keys(shown.nights[0].meeting));
    for (const answer of [searched!, filtered!]) expect(JSON.parse(answer).nights).toBeInstanceOf(Array);
  });

  it('filters by neighbourhoods that the sample has', async () => {
    const [, where] = /where=([\w,-]+)/.exec(blocks(guide, 'sh').join(''))!;
    const days = Array.from({ length: 30 }, (_, i) => new Date(Date.now() + i * 864e5).toISOString().slice(0, 10));
    for (const slug of where!.split(',')) {
      const ask = (day: string) =>
        fetch(`${service.api}/metros/portland/days/${day}?where=${slug}`, {
          headers: { 'X-Api-Key': started.developerKey! },
        });
      const answers = await Promise.all(days.map(async (day) => (await ask(day)).json() as Promise<{ nights: [] }>));
      expect(answers.flatMap(({ nights }) => nights).length, slug).toBeGreaterThan(0);
    }
  });

  it('starts the example’s website, which shows 30 days, and is sent what did not change only once', async () => {
    const start = blockWith(guide, 'sh', 'docs/website-example.js').replace('docs/', join(root, 'docs/'));
    const PORT = String(await freePort());
    const pulls = /^30 days from (\S+), 30 changed\n30 days from \1, 0 changed$/m;
    await serve(set() + start, pulls, { PORT, EVERY_MS: '300' });
    const page = await (await fetch(`http://127.0.0.1:${PORT}/`)).text();
    expect(page.split('<li').length).toBeGreaterThan(30);
  });

  it('names each metro of the sample with its zone', async () => {
    const { metros } = (await (await fetch(`${service.origin}/calendar/config.json`)).json()) as {
      metros: { slug: string; zone: string }[];
    };
    const text = readFileSync(join(root, 'docs', guide), 'utf8');
    const named = [...text.matchAll(/`([a-z]+)`\s\(([A-Z]\w+\/\w+)\)/g)].map(([, slug, zone]) => ({ slug, zone }));
    expect(named).toEqual(metros.map(({ slug, zone }) => ({ slug, zone })));
  });
});

describe('the tutorial of a rider’s app', () => {
  const guide = 'tutorial-rider-app.md';
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  it('asks for all that a rider’s app can', async () => {
    const asking = blocks(guide, 'sh')[0]!
      .replace(/^TOKEN=.*$/m, `TOKEN=${started.token}`)
      .replace(/^API=.*$/m, `API=${service.api}`)
      .replaceAll('curl', 'curl -sfw "\\n"');
    const answers = (await bash(asking)).trimEnd().split('\n');
    expect(answers).toHaveLength(4);
    for (const answer of answers) expect(JSON.parse(answer).nights.length).toBeGreaterThan(0);
  });

  it('makes a page on which a rider signs in, sees their nights and friends, and signs out', async () => {
    const port = await freePort();
    const here = (text: string): string =>
      text.replaceAll('http://127.0.0.1:8080', service.origin).replaceAll('9999', String(port));
    const copy = blockWith(guide, 'sh', 'mkdir').replaceAll('services/', `${root}services/`);
    const answer = await bash(copy + here(blockWith(guide, 'sh', 'oauth/register')).replace('curl', 'curl -s'));
    const { client_id } = JSON.parse(answer);
    const page = here(blocks(guide, 'html')[0]!).replace('CLIENT_ID', client_id);
    writeFileSync(join(dir, 'my-app/index.html'), page);
    await serve(here(blockWith(guide, 'sh', 'http.server')).replace('python3', 'python3 -u'), /Serving HTTP/);

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
    const headers = { Authorization: `Bearer ${started.token}` };
    const mine = (await (await fetch(`${service.api}/me/nights`, { headers })).json()) as {
      nights: { night: { status: string } }[];
    };
    const off = mine.nights.filter(({ night }) => night.status === 'cancelled').length;
    expect(await tab.locator('#mine li:has-text(", called off")').count()).toBe(off);
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
  });
});

describe('how the API behaves', () => {
  const functions = blocks('api-behaviour.md', 'js').join('');
  const { isToCome, instantOf } = runInNewContext(`${functions}; ({ isToCome, instantOf })`, { Intl, Date });
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
    ['2026-11-26', '19:00', 'America/Los_Angeles', '2026-11-27T03:00:00Z'],
    ['2026-06-13', '19:00', 'Asia/Kolkata', '2026-06-13T13:30:00Z'],
    // Skipped, and its neighbours.
    ['2026-03-08', '01:59', 'America/Los_Angeles', '2026-03-08T09:59:00Z'],
    ['2026-03-08', '02:30', 'America/Los_Angeles', '2026-03-08T10:30:00Z'],
    ['2026-03-08', '03:00', 'America/Los_Angeles', '2026-03-08T10:00:00Z'],
    // Twice, and its neighbours.
    ['2026-11-01', '00:59', 'America/Los_Angeles', '2026-11-01T07:59:00Z'],
    ['2026-11-01', '01:30', 'America/Los_Angeles', '2026-11-01T08:30:00Z'],
    ['2026-11-01', '02:00', 'America/Los_Angeles', '2026-11-01T10:00:00Z'],
    ['2026-10-04', '03:00', 'Australia/Melbourne', '2026-10-03T16:00:00Z'],
    ['2026-04-05', '02:30', 'Australia/Melbourne', '2026-04-04T15:30:00Z'],
  ])('the instant of %s %s in %s is %s', (day, time, name, expected) => {
    expect(new Date(instantOf(zone(day, time, name))).toISOString()).toBe(new Date(expected).toISOString());
  });
});

describe('the service as a mock', () => {
  const here = (script: string): string => script.replaceAll('node services/', `${process.execPath} ${root}services/`);
  const asked = async (script: string) =>
    JSON.parse(await serve(here(script), /"token":".*\n/, { PORT: String(await freePort()), DATA_DIR: dir }));

  it('starts in the background of a script, which goes on once it serves, and ends it', async () => {
    const start = here(blockWith('mock.md', 'sh', 'SERVICE=$!').replace('npm ci --omit=dev\n', ''));
    const port = await freePort();
    const out = await bash(`export PORT=${port}\n${start}\ncat started.json\nkill $SERVICE\nwait $SERVICE`);
    expect(JSON.parse(out)).toMatchObject({ baseUrl: `http://127.0.0.1:${port}/api` });
    await expect(fetch(`http://127.0.0.1:${port}/readyz`)).rejects.toThrow();
  });

  it('prints what the guide shows, on data of a seed', async () => {
    expect(Object.keys(JSON.parse(blocks('mock.md', 'json')[0]!))).toEqual(Object.keys(started));
    const [make] = blockWith('mock.md', 'sh', 'simulate').split('ARCHIVE_DIR');
    await bash(make!);
    const plain = await asked(`ARCHIVE_DIR${blockWith('mock.md', 'sh', 'simulate').split('ARCHIVE_DIR')[1]}`);
    expect(plain.day).toMatch(/\/days\/2026-06-1\d$/);
  });

  it('serves a fixture of one’s own, with a key and its riders', async () => {
    const [make, start] = blockWith('mock.md', 'sh', 'records publish')
      .replace('docs/', `${root}docs/`)
      .split('ARCHIVE_DIR');
    await bash(make!);
    const { baseUrl, developerKey, token, day, rider } = await asked(`ARCHIVE_DIR${start}`);
    expect(rider).toBe('u_ada');
    const get = async (path: string, headers: Record<string, string>) => (await fetch(path, { headers })).json();
    expect(await get(day, { 'X-Api-Key': developerKey })).toMatchObject({ nights: [{ ride: 'taco', going_count: 1 }] });
    const range = 'metro=portland&from=2026-11-24&to=2026-11-24';
    expect(await get(`${baseUrl}/me/known?${range}`, { Authorization: `Bearer ${token}` })).toMatchObject({
      nights: [{ ride: 'taco', names: [{ handle: 'bo' }] }],
    });
  });
});
