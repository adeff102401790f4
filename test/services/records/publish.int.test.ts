import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { followToEnds } from '../../../projector/intake/follow-to-ends.ts';
import { decoded } from '../../../projector/ports/decoded-record.ts';
import { positionOf } from '../../../projector/position/position.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';
import { kafkaBrokers } from '../../support/servers/backends.ts';
import { TestKafka } from '../../support/servers/kafka.ts';

const rider = (id: string, handle = id) => JSON.stringify({ topic: 'riders', key: id, value: { rider: id, handle } });

/** Topics of four partitions, `records publish` to them, and what they hold. */
async function setUp(partitions = 4) {
  const kafka = new TestKafka();
  await kafka.createTopics({ partitions });
  const env = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: kafka.topicPrefix, LOG_LEVEL: 'silent' };
  const publish = (args: string[], input?: () => Readable, settings = {}, signal?: AbortSignal) =>
    heard((io) => runCli(['records', 'publish', ...args], io, { ...env, ...settings }), signal, input);
  const held = async () => {
    const log = kafka.eventLog();
    const bounds = await log.bounds();
    const all: { place: string; key: string; value: object | null }[] = [];
    await followToEnds(log, positionOf(bounds, 'low'), bounds, new AbortController().signal, ({ records }) => {
      for (const record of records) {
        const { topic, partition, offset } = record;
        const { key, value } = decoded(record) as { key: string; value: object | null };
        all.push({ place: `${topic}/${partition}@${offset}`, key, value });
      }
    });
    return all;
  };
  const records = (...args: string[]) => heard((io) => runCli(['records', ...args], io, env));
  const follow = (signal: AbortSignal, out: string[]) =>
    heard((io) => runCli(['records', 'print', '--follow'], { ...io, out: (line) => out.push(line) }, env), signal);
  return { publish, records, follow, held, [Symbol.asyncDispose]: () => kafka[Symbol.asyncDispose]() };
}

const placesOf = (out: readonly string[]) =>
  out
    .map((line) => JSON.parse(line))
    .map(({ topic, partition, offset, key }) => ({ place: `${topic}/${partition}@${offset}`, key }));

// docs/rules.md#json-lines, #one-partition-per-key
it('records publish puts each record where it says, a key’s in order', async () => {
  await using kafka = await setUp();
  const path = join(tmpdir(), `publish-${process.pid}.jsonl`);
  const lines = Array.from({ length: 6_000 }, (_, i) => rider(`r${i % 3_000}`, `handle ${i}`));
  await writeFile(path, [...lines, '{"topic":"riders","key":"r7","value":null}'].join('\n'));
  const { code, out, err } = await kafka.publish([path, '--json']);
  expect({ code, err, printed: out.length }).toEqual({ code: 0, err: [], printed: 6_001 });
  const held = await kafka.held();
  const byPlace = (a: { place: string }, b: { place: string }) => (a.place < b.place ? -1 : 1);
  expect(placesOf(out).sort(byPlace)).toEqual(held.map(({ place, key }) => ({ place, key })).sort(byPlace));
  expect(
    held.filter(({ key }) => key === 'r7').map(({ value }) => value && (value as { handle: string }).handle),
  ).toEqual(['handle 7', 'handle 3007', null]);
  expect(new Set(held.map(({ place }) => place.split('@')[0])).size).toBe(4);
});

it('standard input ends at its first bad line, with what came before it acknowledged', async () => {
  await using kafka = await setUp();
  const lines = [rider('a'), rider('b'), '{"topic":"rider"}', rider('c')];
  const { code, out, err } = await kafka.publish([], () => Readable.from([Buffer.from(lines.join('\n'))]));
  expect({ code, out }).toEqual({ code: 1, out: [] });
  expect(err).toEqual([
    `standard input: line 3: topic is not one of ${topicNames.join(', ')}: 2 records acknowledged, all up to line 2`,
  ]);
  expect((await kafka.held()).map(({ key }) => key).sort()).toEqual(['a', 'b']);
});

it('publishes what came through a pipe without waiting for more, and Ctrl-C says what is acknowledged', async () => {
  await using kafka = await setUp();
  const stop = new AbortController();
  const input = new Readable({ read() {} });
  const running = kafka.publish([], () => input, {}, stop.signal);
  input.push(`${rider('a')}\n${rider('b')}\n`);
  while ((await kafka.held()).length < 2) await sleep(50);
  input.push(rider('never ended'));
  stop.abort();
  const err = ['Stopped before the end of standard input: 2 records acknowledged, all up to line 2'];
  expect(await running).toEqual({ code: 1, out: [], err });
});

it('looks at the topics first: none, and none of another partitioner', async () => {
  await using kafka = await setUp();
  const [one, input] = [rider('a'), (line: string) => () => Readable.from([Buffer.from(line)])];
  const gone = await kafka.publish([], input(one), { KAFKA_TOPIC_PREFIX: 'nowhere.' });
  expect(gone).toMatchObject({ code: 2, err: [expect.stringContaining('make them with: npx ride-calendar topics')] });
  const many = Array.from({ length: 20 }, (_, i) => rider(`r${i}`)).join('\n');
  expect(await kafka.publish([], input(many), { KAFKA_PARTITIONER: 'crc32' })).toMatchObject({ code: 0 });
  const words = /^Cannot run records publish: \d+ misplaced records of riders/;
  for (const args of [[], ['--dry-run']])
    expect(await kafka.publish(args, input(one))).toMatchObject({ code: 2, err: [expect.stringMatching(words)] });
  expect(await kafka.held()).toHaveLength(20);
});

// docs/rules.md#records-check
it('records print and records check read what was published', async () => {
  await using kafka = await setUp();
  const example = new URL('../../../docs/example-records.jsonl', import.meta.url).pathname;
  expect(await kafka.publish([example])).toMatchObject({ code: 0 });
  const { code, out } = await kafka.records('print');
  expect(code).toBe(0);
  expect(out.sort()).toEqual(readFileSync(example, 'utf8').trim().split('\n').sort());
  expect((await kafka.records('check')).out.join()).toMatch(/^9 records in Kafka at .*: 0 errors, 0 warnings$/);
  const gone = () => Readable.from([Buffer.from('{"topic":"metros","key":"portland","value":null}')]);
  expect(await kafka.publish([], gone)).toMatchObject({ code: 0 });
  const found = (await kafka.records('check', '--json')).out.map((line) => JSON.parse(line));
  const places = [expect.stringMatching(/^rides\/\d@0$/)];
  expect(found).toContainEqual(expect.objectContaining({ code: 'unknown_metro', count: 1, places }));
});

// docs/rules.md#json-lines, #tombstones
it('records print --follow goes on with what is published, and tombstones of what it printed take all away', async () => {
  await using kafka = await setUp();
  const [stop, seen]: [AbortController, string[]] = [new AbortController(), []];
  const lines = (count: number) => vi.waitFor(() => expect(seen).toHaveLength(count), { timeout: 20_000 });
  await kafka.publish([], () => Readable.from([Buffer.from(`${rider('a')}\n${rider('b')}`)]));
  const following = kafka.follow(stop.signal, seen);
  await lines(2);
  const gone = seen.map((line) => JSON.stringify({ ...JSON.parse(line), value: null }));
  expect(await kafka.publish([], () => Readable.from([Buffer.from(gone.join('\n'))]))).toMatchObject({ code: 0 });
  await lines(4);
  expect(seen.slice(2).sort()).toEqual(gone.sort());
  stop.abort();
  expect(await following).toMatchObject({ code: 0, err: [] });
  const { code, out } = await kafka.records('check', '--json');
  expect({ code, out }).toEqual({ code: 0, out: [] });
});
