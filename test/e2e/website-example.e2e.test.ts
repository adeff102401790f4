import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';
import { listening } from '../support/servers/listening.ts';

/** docs/website-example.js, which websites copy. */

const example = fileURLToPath(new URL('../../docs/website-example.js', import.meta.url));
const endings: (() => void)[] = [];
afterAll(() => {
  for (const end of endings) end();
});

/** Runs the example until it has said so many lines about its days. */
async function website(args: string[], linesMin: number) {
  const port = await freePort();
  const child = spawn(process.execPath, [example, ...args], {
    env: { ...process.env, KEY: 'k', PORT: String(port), EVERY_MS: '50', DAYS: '3' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endings.push(() => child.kill());
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (said.out += chunk));
  child.stderr.on('data', (chunk) => (said.err += chunk));
  const pulls = () => said.out.match(/^\d+ days from .*$/gm) ?? [];
  while (pulls().length < linesMin) await once(child.stdout, 'data');
  return { pulls, said, page: async () => (await fetch(`http://127.0.0.1:${port}/`)).text() };
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
  const { url, close } = await listening(server);
  endings.push(close);
  return { base: url, asked };
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

it('the example of a website strikes a called-off night through, writes texts as text, and goes on after a day that fails', async () => {
  const { base, asked } = await calendar((day) => (day === '2015-06-14' ? { status: 503 } : { nights: [night] }));
  const site = await website([base, 'portland', 'America/Los_Angeles', '2015-06-13'], 8);
  const page = await site.page();
  expect(page).toContain('<s><a href="https://rides.example.org/a">Donut &lt;Ride></a></s>');
  expect(page).toContain('Called off: Ice &amp; &lt;snow>');
  expect(page).toContain('Secret meeting point · Kenton · 4 going');
  // For the day that fails it does not ask before Retry-After.
  const of = (day: string) => asked.filter((each) => each.day === day);
  expect(of('2015-06-15').length).toBeGreaterThanOrEqual(8);
  const [first, second] = of('2015-06-14');
  expect((second?.at ?? Number.POSITIVE_INFINITY) - first!.at).toBeGreaterThan(1_900);
  expect(site.said.err).toContain('Not pulled: 2015-06-14: 503');
  expect(page).toContain('Not known yet');
});
