import { existsSync, readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { Publishing } from '../../../services/backends/publishing.ts';
import { readLine } from '../../../services/records/json-lines/json-line.ts';
import { ran } from '../../support/processes/ran.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

const folder = testFolder();
const rider = (id: string) => JSON.stringify({ topic: 'riders', key: id, value: { rider: id, handle: id } });
const records = (args: string[], lines: readonly string[] = []) =>
  ran(['records', ...args], { LOG_LEVEL: 'silent' }, undefined, () =>
    Readable.from([Buffer.from(lines.map((line) => `${line}\n`).join(''))]),
  );
const publish = (args: string[], lines?: readonly string[]) => records(['publish', ...args], lines);

// docs/rules.md#json-lines

it('records publish --archive writes an archive that archive check accepts, and says each record’s place', async () => {
  const dir = join(folder, 'new');
  const { code, out } = await publish(['-', '--archive', dir, '--json'], [rider('a'), rider('b'), rider('a')]);
  const places = out.map((line) => JSON.parse(line));
  const told = places.map(({ line, topic, key }) => `${line} ${topic} ${key}`);
  expect({ code, told }).toEqual({ code: 0, told: ['1 riders a', '2 riders b', '3 riders a'] });
  const [first, second, last] = places;
  expect(last.partition).toBe(first.partition);
  expect(last.offset - first.offset).toBe(second.partition === first.partition ? 2 : 1);
  for (const { place, partition, offset } of places) expect(place).toBe(`riders/${partition}@${offset}`);
  expect(await ran(['archive', 'check', dir])).toMatchObject({ code: 0 });
  const err = [`Cannot run records publish --archive: ${dir} is there already, want a new name`];
  expect(await publish(['--archive', dir], [rider('a')])).toMatchObject({ code: 2, err });
});

it('records publish --archive leaves nothing behind of lines that are bad, and says each of a file; --dry-run, of standard input too', async () => {
  const dir = join(folder, 'none');
  const bad = [rider('a'), '{"topic":"riders"}', rider('not an id')];
  const file = join(folder, 'bad.jsonl');
  await writeFile(file, bad.join('\n'));
  const said = [
    `${file}: line 2: value is missing, want an object, or null for a tombstone`,
    `${file}: line 3: key does not match its pattern: field rider: want ^[A-Za-z0-9_-]{1,64}$`,
    '2 of 3 lines break a rule: nothing was published',
  ];
  expect(await publish([file, '--archive', dir])).toEqual({ code: 1, out: [], err: said });
  const err = [expect.stringMatching(/^standard input: line 2: value is missing, .*: nothing was written$/)];
  expect(await publish(['--archive', dir], bad)).toEqual({ code: 1, out: [], err });
  const out = ['1 record of standard input: all good, nothing was published'];
  expect(await publish(['--dry-run', '--archive', dir], [rider('a')])).toEqual({ code: 0, out, err: [] });
  const inJson = await publish(['--dry-run', '--json'], [rider('a')]);
  expect(inJson).toEqual({ code: 0, out: ['{"records":1,"published":0}'], err: [] });
  expect(await publish(['--dry-run'], ['x', 'y'])).toMatchObject({ code: 1, err: { length: 3 } });
  const many = await publish(['--dry-run'], Array(22).fill('x'));
  const more = '2 more; ride-calendar records check FILE sums them up';
  expect([many.err.length, many.err[19], many.err[20]]).toEqual([22, expect.stringContaining('line 20: '), more]);
  expect((await readdir(folder)).filter((name) => name.includes('unfinished'))).toEqual([]);
  expect(existsSync(dir)).toBe(false);
});

it('publishing keeps few records in memory, has one flight under way, and says what is acknowledged', async () => {
  const flights: { size: number; land(places: Map<number, number>): void }[] = [];
  const publish = (_: unknown, { length: size }: readonly unknown[]) =>
    new Promise<Map<number, number>>((land) => flights.push({ size, land }));
  const target = { partitionOf: () => 0, publish, complete: async () => {}, close: async () => {} };
  const landed = new Map([[0, 0]]);
  const publishing = new Publishing(target, null);
  const record = readLine(Buffer.from(rider('a')), 0);
  let line = 1;
  let full: Promise<void> | undefined;
  while (full === undefined && line < 10_000) {
    full = publishing.add(record, line++);
    publishing.flush();
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect({ line, flights: flights.length }).toEqual({ line: 5_002, flights: 1 });
  flights[0]!.land(landed);
  await full;
  expect(flights.map(({ size }) => size)).toEqual([1, 5_000]);
  const place = '1 record acknowledged, all up to line 1; those that were under way may be there too';
  expect(publishing.place).toBe(place);
  publishing.add(record, line);
  const stopped = publishing.stop();
  flights[1]!.land(landed);
  await stopped;
  expect(publishing.place).toBe('5001 records acknowledged, all up to line 5001');
  expect(flights.length).toBe(2);
});

// docs/rules.md#json-lines
const printed = async (...args: string[]) => (await records(['print', ...args])).out;

it('records print prints what records publish makes the same records of', async () => {
  const dir = join(folder, 'published');
  const example = readFileSync(new URL('../../../docs/example-records.jsonl', import.meta.url), 'utf8');
  const lines = [...example.trim().split('\n'), '{"topic":"riders","key":"gone","value":null}'];
  const out = ['Published 10 records of standard input'];
  expect(await publish(['--archive', dir], lines)).toEqual({ code: 0, out, err: [] });
  expect((await printed('--archive', dir)).sort()).toEqual(lines.sort());
});

it('records print prints an archive’s bad records to standard error, each with its place and reason', async () => {
  const { code, out, err } = await records(['print', '--archive', portlandDirectory]);
  expect([code, out.length > 100, err.length]).toEqual([0, true, 4]);
  const reason = expect.stringMatching(/^time zone is not in the IANA database: field time_zone/);
  expect(err.map((line) => JSON.parse(line))).toContainEqual({ topic: 'metros', partition: 0, offset: 2, reason });
});

it('records print prints a topic’s, a key’s, or those from an instant on', async () => {
  const two = ['--archive', portlandDirectory, '--topic', 'rides', 'metros'];
  const some = await printed(...two);
  expect(new Set(some.map((line) => JSON.parse(line).topic))).toEqual(new Set(['rides', 'metros']));
  const { key } = JSON.parse(some[0]!);
  const ofKey = some.filter((line) => JSON.parse(line).key === key);
  expect(ofKey.length).toBeLessThan(some.length);
  expect(await printed(...two, '--key', key)).toEqual(ofKey);
  expect(await printed(...two, '--from', '2999-01-01T00:00:00Z')).toEqual([]);
  expect(await printed(...two, '--from', '1999-01-01T00:00:00Z')).toEqual(some);
  // The instant of a record's own timestamp.
  expect((await printed(...two, '--from', '2015-06-08T13:41:17Z')).join()).toContain('pp15r4747');
});
