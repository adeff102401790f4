import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it, vi } from 'vitest';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';
import { ran } from '../../support/processes/ran.ts';
import { testStack } from '../../support/processes/test-stack.ts';
import { TestKafka } from '../../support/servers/kafka.ts';
import { readTopic } from '../../support/servers/kafka-topic.ts';

interface Line {
  topic: string;
  key: string;
  value: { handle: string } | null;
}

const rider = (id: string, handle = id) => JSON.stringify({ topic: 'riders', key: id, value: { rider: id, handle } });
const text = (...lines: string[]) => Readable.from([Buffer.from(lines.join('\n'))]);
const kafka = testStack().use(new TestKafka());
const env = { ...kafka.env, LOG_LEVEL: 'silent' };
beforeAll(() => kafka.createTopics({ partitions: 4 }));

const records = (args: string[], input?: Readable, settings = {}, signal?: AbortSignal) =>
  ran(['records', ...args], { ...env, ...settings }, signal, input && (() => input));
const printed = async (...args: string[]) =>
  (await records(['print', ...args])).out.map((line) => JSON.parse(line) as Line);

// docs/rules.md#records-check, #tombstones
it('records print reads what was published, and goes on with --follow; records check looks at it; tombstones of it take all away', async () => {
  const example = new URL('../../../docs/example-records.jsonl', import.meta.url).pathname;
  expect(await records(['publish', example])).toMatchObject({ code: 0 });
  const [stop, seen]: [AbortController, string[]] = [new AbortController(), []];
  const follow = (io: Parameters<typeof runCli>[1]) =>
    runCli(['records', 'print', '--follow'], { ...io, out: (line) => seen.push(line) }, env);
  const following = heard(follow, stop.signal);
  const lines = (count: number) => vi.waitFor(() => expect(seen).toHaveLength(count), { timeout: 60_000 });
  await lines(9);
  expect(seen.toSorted()).toEqual(readFileSync(example, 'utf8').trim().split('\n').sort());
  expect((await records(['check'])).out.join()).toMatch(/^9 records in Kafka at .*: 0 errors, 0 warnings$/);
  const gone = seen.map((line) => JSON.stringify({ ...JSON.parse(line), value: null }));
  const [metros, others] = [true, false].map((isMetro) => gone.filter((line) => line.includes('metros') === isMetro));
  expect(await records(['publish'], text(...metros!))).toMatchObject({ code: 0 });
  const found = (await records(['check', '--json'])).out.map((line) => JSON.parse(line));
  const places = [expect.stringMatching(/^rides\/\d@0$/)];
  expect(found).toContainEqual(expect.objectContaining({ code: 'unknown_metro', count: 1, places }));
  expect(await records(['publish'], text(...others!))).toMatchObject({ code: 0 });
  await lines(18);
  stop.abort();
  expect(await following).toMatchObject({ code: 0, err: [] });
  expect(seen.slice(9).sort()).toEqual(gone.sort());
  expect(await records(['check', '--json'])).toMatchObject({ code: 0, out: [] });
});

// docs/rules.md#json-lines, #one-partition-per-key
it('records publish puts each record where it says, a key’s in order', async () => {
  const lines = Array.from({ length: 6_000 }, (_, i) => rider(`r${i % 3_000}`, `handle ${i}`));
  const last = '{"topic":"riders","key":"r7","value":null}';
  const { code, out, err } = await records(['publish', '--json'], text(...lines, last));
  const places = out.map((line) => JSON.parse(line));
  expect({ code, err, printed: places.length }).toEqual({ code: 0, err: [], printed: 6_001 });
  expect(new Set(places.map(({ partition }) => partition)).size).toBe(4);
  const place = (one: { partition: number; offset: number; key: unknown }) =>
    `${one.partition}@${one.offset} ${one.key}`;
  const held = (await readTopic(env.KAFKA_BROKERS, `${kafka.topicPrefix}riders`)).map(place);
  expect(held.filter((one) => / r\d/.test(one)).sort()).toEqual(places.map(place).sort());
  const handles = (await printed('--key', 'r7')).map(({ value }) => value?.handle ?? null);
  expect(handles).toEqual(['handle 7', 'handle 3007', null]);
});

it('publishes what came through a pipe without waiting for more; a bad line or Ctrl-C ends it, and says what is acknowledged', async () => {
  const [stop, input] = [new AbortController(), new Readable({ read() {} })];
  const running = records(['publish'], input, {}, stop.signal);
  input.push(`${rider('a')}\n${rider('b')}\n`);
  while ((await printed('--key', 'a', 'b')).length < 2) await sleep(50);
  input.push(rider('never ended'));
  stop.abort();
  const acknowledged = '2 records acknowledged, all up to line 2';
  const stopped = [`Stopped before the end of standard input: ${acknowledged}`];
  expect(await running).toEqual({ code: 1, out: [], err: stopped });
  const bad = await records(['publish'], text(rider('a'), rider('c'), '{"topic":"rider"}', rider('d')));
  const err = [expect.stringMatching(`^standard input: line 3: topic is not one of .*: ${acknowledged}$`)];
  expect(bad).toEqual({ code: 1, out: [], err });
  expect((await printed('--key', 'c', 'd')).map(({ key }) => key)).toEqual(['c']);
});

it('looks at the topics first, also for --dry-run: none, and none of another partitioner', async () => {
  const gone = await records(['publish'], text(rider('a')), { KAFKA_TOPIC_PREFIX: 'nowhere.' });
  expect(gone).toMatchObject({ code: 2, err: [expect.stringContaining('make them with: npx ride-calendar topics')] });
  const before = (await printed()).length;
  const err = [expect.stringMatching(/^Cannot run records publish: .* misplaced records of riders/)];
  for (const more of [[], ['--dry-run']])
    expect(await records(['publish', ...more], text(rider('a')), { KAFKA_PARTITIONER: 'crc32' })).toMatchObject({
      code: 2,
      err,
    });
  expect(await printed()).toHaveLength(before);
});
