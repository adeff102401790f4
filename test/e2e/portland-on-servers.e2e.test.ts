import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { beforeAll, expect, it } from 'vitest';
import { dayText } from '../reference/dates.ts';
import { latestRecords } from '../reference/facts.ts';
import {
  askAll,
  differences,
  type GotAnswer,
  type Question,
  questionsOf,
} from '../support/processes/calendar-answers.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { ran } from '../support/processes/ran.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { freshGroup, freshKafka, freshRedis, redisUrl } from '../support/servers/backends.ts';
import { riderTokens } from '../support/sign-in/rider-tokens.ts';
import { dumpRedis } from '../support/stores/redis-dump.ts';
import { copyPortland, portlandKeys, readPortland } from '../support/worlds/portland.ts';

// Portland by every way: the embedded default, Kafka and Redis, and archives of that Kafka. Each gives the same bytes, with
// the same ETags; and none tells a secret place, wherever it writes.

const processes = testStack().use(new Processes());

const records = await readPortland();
const facts = latestRecords(records);
const now = '2015-06-13T19:00:00Z';
const kafka = { ...freshKafka(), KAFKA_GROUP: freshGroup(), KAFKA_PARTITIONER: 'crc32' };
const redis = { ...freshRedis(), AUTH_REDIS_URL: redisUrl() };
let tokens: Awaited<ReturnType<typeof riderTokens>>;
let portland: string;
let questions: Question[];
/** What the embedded default answers, and what it says of bytes and ETags. */
let embedded: GotAnswer[];
let projector: RunningService;
let api: RunningService;

const startOn = async (command: string, env: Env): Promise<RunningService> =>
  (await processes.start(command, { NOW: now, ...tokens.env, ...env })).ready();

/** A tool's exit code, and the JSON that it prints. */
async function run(args: string[]): Promise<object> {
  const { code, out } = await ran([...args, '--json'], { ...kafka, LOG_LEVEL: 'error' });
  return { code, ...JSON.parse(out.at(-1)!) };
}

const stop = async (service: RunningService): Promise<void> =>
  expect(await service.stop()).toMatchObject({ code: 0, signal: null });

async function expectSameAnswers({ api }: RunningService): Promise<void> {
  const got = await askAll(api, questions);
  expect(differences(questions, got).slice(0, 5)).toEqual([]);
  const etags = (answers: GotAnswer[]) => answers.map(({ headers }) => headers.get('etag'));
  expect(etags(got)).toEqual(etags(embedded));
}

beforeAll(async () => {
  tokens = await riderTokens(await processes.folder());
  const riders = await tokens.of('r0020', 'r0007', 'r0133');
  const deadKeys = [portlandKeys.deleted, 'nonsense'];
  questions = questionsOf(facts, Date.parse(now), portlandKeys.live, deadKeys, riders);
  portland = await copyPortland(join(await processes.folder(), 'portland'));
  const service = await startOn('start', { ARCHIVE_DIR: portland });
  embedded = await askAll(service.api, questions);
  await stop(service);
});

it('is loaded by topics and archive load, and then gives the same bytes as the embedded default', async () => {
  expect(await run(['topics', '--partitions', '4'])).toMatchObject({ code: 0 });
  const loaded = await run(['archive', 'load', portland]);
  expect(loaded).toMatchObject({ code: 0, rejected: 0, records: records.length });
  const logged = { LOG_LEVEL: 'trace' };
  [projector, api] = await Promise.all([
    startOn('projector', { ...kafka, ...redis, ...logged }),
    startOn('api', { ...redis, ...logged }),
  ]);
  await expectSameAnswers(api);
});

/** Names of secret places that no night shows openly. Most have this one's mark. */
const mark = 'Lantern Yard';
function secretNames(): string[] {
  const places = records.flatMap(({ topic, value }) =>
    topic === 'nights' && value && 'meeting' in value && value.meeting ? [value.meeting] : [],
  );
  const open = new Set(places.filter(({ secret }) => !secret).map(({ place_name }) => place_name));
  const names = places.filter(({ secret, place_name }) => secret && place_name && !open.has(place_name));
  return [...new Set(names.map(({ place_name }) => place_name!))];
}

/** As folding for searches leaves a text. */
const folded = (text: string): string =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').replaceAll('’', "'").toLowerCase();

/** All that comes back from questions that name a place, and from pages; but addresses sent back are what was asked. */
async function askFor(names: string[]): Promise<string[]> {
  const days = [...facts.nights.values()]
    .filter(({ meeting }) => meeting?.secret)
    .map(({ ride, day }) => `/metros/${facts.rides.get(ride)?.metro ?? 'unknown'}/days/${dayText(day)}`);
  const asked = [...new Set(days)].flatMap((path, i) => {
    const name = names[i % names.length]!;
    const queries = [name, name.split(' ')[0]!, name.toLowerCase()].map((q) => `q=${encodeURIComponent(q)}`);
    return [...queries, `where=${encodeURIComponent(name)}`].map((query) => `${path}?${query}`);
  });
  const odd = encodeURIComponent(names[0]!);
  const paths = [...asked, '/openapi.json', `/rides/${odd}`, `/${odd}`, `/metros/${odd}/days/${odd}`];
  const at = (base: string, headers: Record<string, string>, ...of: string[]) =>
    askAll(
      base,
      of.map((path) => ({ path, headers })),
    );
  const got = [
    await askAll(api.api, questions),
    await at(api.api, { 'X-Api-Key': portlandKeys.live }, ...paths),
    await at(api.api, { Authorization: `Bearer ${odd}` }, '/me/nights'),
    await at(api.origin, {}, '/docs', '/metrics', '/readyz', `/oauth/authorize?client_id=${odd}`),
    await at(projector.origin, {}, '/metrics', '/readyz'),
  ];
  return got.flat().map(({ status, body, headers }) => {
    const known = [...headers].filter(([name]) => name !== 'location');
    return `${status} ${JSON.stringify(known)} ${body}`;
  });
}

// docs/rules.md#secret-meeting
it('is read with the projector down; no secret place is in an answer, header, metric, Redis key or value, or log line at trace level', async () => {
  const names = secretNames();
  expect(names.length).toBeGreaterThan(3);
  expect(names.some((name) => name.startsWith(mark))).toBe(true);
  const answers = (await askFor(names)).join('\n');
  const out = [await projector.stop()];
  await expectSameAnswers(api);
  const client = new Redis(redisUrl());
  const dump = await dumpRedis(client, redis.REDIS_KEY_PREFIX);
  client.disconnect();
  const stored = [...dump].map(([key, value]) => `${key} ${Buffer.from(value, 'latin1').toString()}`).join('\n');
  out.push(await api.stop());
  expect(out.map(({ code }) => code)).toEqual([0, 0]);
  const said = out.map((each) => each.out + each.err).join('\n');
  const found = (text: string, all: string[]) => all.filter((name) => folded(text).includes(folded(name)));
  for (const text of [answers, stored, said]) expect(found(text, [...names, mark])).toEqual([]);
  // The scan finds what is there.
  for (const text of [answers, stored]) expect(text).toContain('"withheld":true');
  expect(dump.size).toBeGreaterThan(1_000);
  expect(said).toContain('"level":"info"');
  expect(
    found(answers, [facts.nights.values().find(({ meeting }) => meeting?.secret === false)!.meeting!.place_name!]),
  ).toHaveLength(1);
});

it('serves the same bytes from an archive of that Kafka; the four bad records are set aside once', async () => {
  const saved = join(await processes.folder(), 'saved');
  expect(await run(['archive', 'save', saved])).toMatchObject({ code: 0, records: records.length, rejected: 4 });
  const { KAFKA_TOPIC_PREFIX } = kafka;
  const service = await startOn('start', { ARCHIVE_DIR: saved, KAFKA_TOPIC_PREFIX });
  await expectSameAnswers(service);
  // The bad records came with it, and are not set aside again.
  expect(await readdir(join(saved, `${KAFKA_TOPIC_PREFIX}rejected`))).toHaveLength(1);
  await stop(service);
});
