import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';

/** docs/website-example.js, which websites copy. */

const example = fileURLToPath(new URL('../../docs/website-example.js', import.meta.url));
const endings: (() => void)[] = [];
afterAll(() => {
  for (const end of endings) end();
});

/** Runs the example until it has said so many lines about its days. */
async function website(args: string[], env: Record<string, string>, linesMin: number, nodeArgs: string[] = []) {
  const port = await freePort();
  const child = spawn(process.execPath, [...nodeArgs, example, ...args], {
    env: { ...process.env, KEY: 'k', PORT: String(port), EVERY_MS: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endings.push(() => child.kill());
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const pulls = () => out.match(/^\d+ days from .*$/gm) ?? [];
  while (pulls().length < linesMin) await once(child.stdout, 'data');
  return { pulls, err: () => err, page: async () => (await fetch(`http://127.0.0.1:${port}/`)).text() };
}

/** A calendar of the test's own: what it answers for a day, and what it was asked. */
async function calendar(answer: (day: string) => { status?: number; nights?: unknown[] }) {
  const asked: { day: string; at: number }[] = [];
  const server = createServer((request, response) => {
    const day = request.url!.split('/').at(-1)!;
    asked.push({ day, at: performance.now() });
    const { status = 200, nights = [] } = answer(day);
    response.writeHead(status, { ...(status === 503 && { 'Retry-After': '2' }), ETag: '"1"' });
    response.end(JSON.stringify({ metro: 'portland', day, nights }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  endings.push(() => server.close().closeAllConnections());
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const night = {
  title: 'Donut <Ride>',
  meet_time: '19:00',
  status: 'cancelled',
  cancellation_reason: 'Ice & <snow>',
  past: false,
  going_count: 4,
  meeting: { withheld: true, place_name: null, neighbourhood: 'Kenton' },
  url: 'https://rides.example.org/a',
};

describe('the example of a website', () => {
  it('strikes a called-off night through, with its reason, and writes riders’ texts as text', async () => {
    const { base } = await calendar(() => ({ nights: [night] }));
    const site = await website([base, 'portland', 'America/Los_Angeles', '2015-06-13'], { DAYS: '1' }, 1);
    const page = await site.page();
    expect(page).toContain('<s><a href="https://rides.example.org/a">Donut &lt;Ride></a></s>');
    expect(page).toContain('Called off: Ice &amp; &lt;snow>');
    expect(page).toContain('Secret meeting point · Kenton · 4 going');
  });

  it('asks for the days after one that fails, and for that one not before Retry-After', async () => {
    const { base, asked } = await calendar((day) => (day === '2015-06-14' ? { status: 503 } : { nights: [night] }));
    const place = [base, 'portland', 'America/Los_Angeles', '2015-06-13'];
    const site = await website(place, { DAYS: '3', EVERY_MS: '50' }, 8);
    const of = (day: string) => asked.filter((each) => each.day === day);
    expect(of('2015-06-15').length).toBeGreaterThanOrEqual(8);
    const [first, second] = of('2015-06-14');
    expect((second?.at ?? Number.POSITIVE_INFINITY) - first!.at).toBeGreaterThan(1_900);
    expect(site.err()).toContain('Not pulled: 2015-06-14: 503');
    expect(await site.page()).toContain('Not known yet');
  });

  // Zones by their offsets alone: from each instant on, so many hours.
  const clocks = {
    'America/Los_Angeles': { '2026-01-01T00': -8, '2026-03-08T10': -7, '2026-11-01T09': -8 },
    'Asia/Kolkata': { '2026-01-01T00': 5.5 },
    'Australia/Melbourne': { '2026-01-01T00': 11, '2026-04-04T16': 10, '2026-10-03T16': 11 },
  };
  // An ordinary day, and those on which a zone's clock is changed.
  it.each([
    ['Asia/Kolkata', '2026-06-13T00'],
    ['America/Los_Angeles', '2026-03-07T20'],
    ['America/Los_Angeles', '2026-11-01T00'],
    ['Australia/Melbourne', '2026-04-04T00'],
    ['Australia/Melbourne', '2026-10-03T04'],
  ] as const)('shows tonight at each hour of a day: %s from %s', async (zone, start) => {
    const offsets: Record<string, number> = clocks[zone];
    const { base } = await calendar(() => ({}));
    const from = Date.parse(`${start}:00:00Z`);
    // Each time it asks what time it is, an hour has passed.
    const clock = `const { now } = Date; let hours = 0; globalThis.Date = class extends Date {
        constructor(...given) { super(...(given.length > 0 ? given : [${from} + 3_600_000 * hours++])); } }; Date.now = now;`;
    const preload = ['--import', `data:text/javascript,${encodeURIComponent(clock)}`];
    const site = await website([base, 'portland', zone], { DAYS: '1', TZ: 'UTC' }, 30, preload);
    const shown = site
      .pulls()
      .slice(0, 30)
      .map((line) => /from (\S+),/.exec(line)![1]);
    const expected = Array.from({ length: 30 }, (_, hour) => {
      const at = from + hour * 3_600_000;
      const offset = Object.entries(offsets).findLast(([since]) => Date.parse(`${since}:00:00Z`) <= at)![1];
      return new Date(at + offset * 3_600_000).toISOString().slice(0, 10);
    });
    expect(shown).toEqual(expected);
    expect(new Set(shown).size).toBeGreaterThan(1);
  });
});
