import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Night } from '../../schemas/events/records.ts';
import { dayText } from '../reference/dates.ts';
import { latestRecords } from '../reference/facts.ts';
import { pathOf } from '../reference/requests.ts';
import { publicRequests, riderRequests } from '../support/processes/calendar-answers.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { dumpRedis } from '../support/stores/redis-dump.ts';
import type { HistoryRecord } from '../support/worlds/histories.ts';
import { copyPortland, portlandKeys, readPortland } from '../support/worlds/portland.ts';

/**
 * No secret place's name is in any Redis key or value, answer, header, log line or metric, after the Portland archive
 * was folded by the real process into a real Redis, at LOG_LEVEL=trace.
 */

// Portland’s secret places are named after it.
const mark = 'Lantern Yard';
const processes = new Processes();
const keyPrefix = freshKeyPrefix();
let records: HistoryRecord[];
let service: RunningService;
let tokens: Map<string, string>;
let names: string[];
let answers: string[];
beforeAll(async () => {
  const signer = await riderTokens(await processes.folder());
  service = await processes.start('start', {
    ...signer.env,
    REDIS_URL: redisUrl(),
    AUTH_REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: keyPrefix,
    LOG_LEVEL: 'trace',
    NOW: '2015-06-13T19:00:00Z',
    ARCHIVE_DIR: await copyPortland(await processes.folder()),
  });
  await service.ready();
  records = await readPortland();
  tokens = await signer.of(...[...latestRecords(records).riders.keys()].slice(0, 25));
  names = secretNames();
  answers = await askEverything();
});
afterAll(() => processes.close());

/** Every name that a secret place ever had in the log, and that no night shows openly. */
function secretNames(): string[] {
  const meetings = records
    .filter(({ topic, value }) => topic === 'nights' && value !== null)
    .map(({ value }) => (value as Night).meeting);
  const open = new Set(meetings.filter((meeting) => !meeting?.secret).map((meeting) => meeting?.place_name));
  const secret = new Set(meetings.filter((meeting) => meeting?.secret).map((meeting) => meeting?.place_name));
  return [...secret].filter((name): name is string => !!name && !open.has(name));
}

/** Asks everything of every kind; all that came back, headers too. */
async function askEverything(): Promise<string[]> {
  const facts = latestRecords(records);
  const nights = [...facts.nights.values()].filter(({ meeting }) => meeting?.secret);
  const days = nights.map(
    ({ ride, day }) => `/metros/${facts.rides.get(ride)?.metro ?? 'unknown'}/days/${dayText(day)}`,
  );
  const byKey = { 'x-api-key': portlandKeys.live };
  const requests: [string, Record<string, string>][] = [];
  for (const request of publicRequests(facts)) requests.push([pathOf(request), byKey]);
  for (const [rider, token] of tokens)
    for (const request of riderRequests(facts, rider))
      requests.push([pathOf(request), { authorization: `Bearer ${token}` }]);
  for (const [i, path] of [...new Set(days)].entries()) {
    const name = names[i % names.length]!;
    for (const q of [name, name.split(' ')[0]!, name.toLowerCase()])
      requests.push([`${path}?q=${encodeURIComponent(q)}`, byKey]);
    requests.push([`${path}?where=${encodeURIComponent(name)}`, byKey]);
  }
  const odd = encodeURIComponent(names[0]!);
  requests.push(
    ['/openapi.json', {}],
    [`/rides/${odd}`, byKey],
    [`/${odd}`, byKey],
    [`/metros/${odd}/days/${odd}`, byKey],
    [`/metros/unknown/days/2015-06-13?q=${odd}`, byKey],
    [days[0]!, { 'x-api-key': names[0]!.normalize('NFKD').replace(/[^ -~]/g, '') }],
    ['/me/nights', { authorization: `Bearer ${odd}` }],
  );
  const seen: string[] = [];
  for (const [path, headers] of requests) seen.push(await whole(service.api + path, headers));
  for (const path of ['/docs', '/metrics', '/readyz', `/oauth/authorize?client_id=${odd}`])
    seen.push(await whole(service.origin + path, {}));
  return seen;
}

async function whole(url: string, headers: Record<string, string>): Promise<string> {
  const response = await fetch(url, { headers, redirect: 'manual' });
  // An address that a redirect sends back is what was asked, not what is known.
  const kept = [...response.headers].filter(([name]) => name !== 'location');
  return `${response.status} ${JSON.stringify(kept)} ${await response.text()}`;
}

/** The names found in a text, as they are or as folding for searches leaves them. */
function found(text: string, names: readonly string[]): string[] {
  const haystack = foldedText(text);
  return names.filter((name) => haystack.includes(foldedText(name)));
}
const foldedText = (text: string): string =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').replaceAll('’', "'").toLowerCase();

// docs/rules.md#secret-meeting
it('there are secret places to look for, and nights without one to find', () => {
  expect(names.length).toBeGreaterThan(3);
  expect(names.some((name) => name.startsWith(mark))).toBe(true);
  expect(answers.filter((answer) => answer.startsWith('200')).length).toBeGreaterThan(300);
  expect(answers.some((answer) => answer.includes('"withheld":true'))).toBe(true);
  expect(answers.some((answer) => answer.includes('"why":"'))).toBe(true);
  // The scan finds what is there: an open place's name in an answer.
  const open = records.find(
    ({ topic, value }) => topic === 'nights' && value && (value as Night).meeting?.secret === false,
  )?.value as Night;
  expect(open.meeting?.place_name && found(answers.join('\n'), [open.meeting.place_name])).toHaveLength(1);
});

it('no secret name is in an answer or a header', () => {
  expect(found(answers.join('\n'), [...names, mark])).toEqual([]);
});

it('no secret name is in a Redis key or value', async () => {
  const redis = new Redis(redisUrl());
  const dump = await dumpRedis(redis, keyPrefix);
  redis.disconnect();
  expect(dump.size).toBeGreaterThan(1_000);
  const text = [...dump].map(([key, value]) => `${key} ${Buffer.from(value, 'latin1').toString()}`).join('\n');
  expect(text).toContain('"withheld":true');
  expect(found(text, [...names, mark])).toEqual([]);
});

it('no secret name is in a log line at trace level, or in what is printed', async () => {
  const { out, err } = await service.stop();
  expect(err).toContain('"level":"info"');
  expect(found(`${out}\n${err}`, [...names, mark])).toEqual([]);
});
