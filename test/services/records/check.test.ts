import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { Notices, notices } from '../../../services/records/checking/notices.ts';
import { ran } from '../../support/processes/ran.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { rider } from '../../support/worlds/records.ts';

const example = new URL('../../../docs/example-records.jsonl', import.meta.url);
const good = readFileSync(example, 'utf8').trim().split('\n');
const folder = testFolder();
const check = (...args: string[]) => ran(['records', 'check', ...args], { LOG_LEVEL: 'silent' });

type Lines = { topic: string; key: string; value: Record<string, unknown> | null }[];

/** What is noticed in the example's records with some changed, left out or added: code, count, first places. */
async function noticed(change: (lines: Lines) => unknown, ...more: string[]) {
  const lines = good.map((line) => JSON.parse(line));
  change(lines);
  const file = join(folder, 'lines.jsonl');
  await writeFile(file, [...lines.map((line) => JSON.stringify(line)), ...more].join('\n'));
  const { code, out } = await check(file, '--json');
  const found = out.map((line) => JSON.parse(line)).map(({ code, count, places }) => [code, count, places[0]]);
  return { code, found, strict: (await check(file, '--strict')).code };
}

/** One code, at some lines. */
const both = (code: string, ...lines: number[]) =>
  lines.map((line): [string, number, string] => [code, 1, `line ${line}`]);
const of = (lines: Lines, topic: string) => lines.find((one) => one.topic === topic)!;
const set = (topic: string, change: object) => (lines: Lines) => Object.assign(of(lines, topic).value!, change);
const without = (topic: string, key?: string) => (lines: Lines) => {
  const found = lines.findIndex((one) => one.topic === topic && (key ?? one.key) === one.key);
  lines.splice(found, 1);
};
const again = (topic: string, change: object) => (lines: Lines) =>
  lines.push({ ...of(lines, topic), value: { ...of(lines, topic).value, ...change } });

const night = { topic: 'attendance', key: 'taco/2026-12-01/u_bo' };
const cases: [string, (lines: Lines) => unknown, [string, number, string][]][] = [
  ['a missing metro', without('metros'), both('unknown_metro', 1, 5)],
  ['a missing ride', without('rides'), both('unknown_ride', 6)],
  ['a missing district', without('districts'), both('unknown_district', 6)],
  ['a missing rider of an RSVP and a relation', without('riders', 'u_bo'), both('unknown_rider', 7, 8)],
  ['a missing rider of a ride and a relation', without('riders', 'u_ada'), both('unknown_rider', 5, 8)],
  [
    'a missing night, by its own RSVP, not by another of the same rider',
    (lines) => {
      const value = { ...of(lines, 'attendance').value, day: '2026-12-01', response: 'CONFIRMED' };
      lines.splice(7, 0, { ...night, value });
    },
    both('unknown_night', 8),
  ],
  ['a ride without nights', without('nights'), [...both('unknown_night', 7), ...both('ride_without_nights', 6)]],
  [
    'no missing night of a ride that is not posted',
    (lines) => {
      set('rides', { posted: false })(lines);
      for (const topic of ['nights', 'attendance']) without(topic)(lines);
    },
    [],
  ],
  ['nothing in the example records', () => {}, []],
  ['that there is nothing', (lines) => lines.splice(0), [['no_records', 1, 'the start']]],
  ['two riders of one handle', set('riders', { handle: 'bo' }), [['shared_handle', 1, 'line 4 and line 5']]],
  ['a title of spaces', set('rides', { title: ' ' }), both('empty_title', 6)],
  // 23:59:59, in seconds.
  ['a meet time in seconds', set('nights', { meet_time: '00:01:26.399' }), both('meet_times_near_midnight', 7)],
  ['no meet time after those', set('nights', { meet_time: '00:01:27' }), []],
  [
    'no meet time near midnight where others are not',
    (lines) => {
      set('nights', { meet_time: '00:01' })(lines);
      const { key, value } = of(lines, 'nights');
      const day = '2030-01-01';
      lines.push({ topic: 'nights', key: key.replace(/[^/]+$/, day), value: { ...value, day, meet_time: '18:30' } });
    },
    [],
  ],
  ['what the last record of a key names', again('rides', { metro: 'nowhere' }), both('unknown_metro', 10)],
  ['the end of 1999', set('metros', { changed_at: '1999-12-31T23:59:59.999Z' }), both('changed_at_before_2000', 1)],
  ['not the first of 2000', set('metros', { changed_at: '2000-01-01T00:00:00Z' }), []],
  ['seconds', set('metros', { changed_at: '1970-01-21T12:00:00Z' }), both('changed_at_before_2000', 1)],
  ['no change of the coming day', set('metros', { changed_at: new Date(Date.now() + 43_200_000).toISOString() }), []],
  ['microseconds', set('metros', { changed_at: '9999-12-31T00:00:00Z' }), both('changed_at_ahead', 1)],
  ['a revision that fell', again('metros', { revision: 0 }), both('revision_fell', 10)],
];

// docs/rules.md#records-check, #unchecked-references

it.each(cases)('records check notices %s', async (_, change, found) => {
  expect(await noticed(change)).toEqual({ code: 0, found, strict: found.length > 0 ? 1 : 0 });
});

it('records check says bad lines and bad records as errors, by field and rule', async () => {
  const more = ['x', '{"topic":"riders","key":"a b","value":null}', 'y'];
  const bad = await noticed(set('metros', { time_zone: 'Mars' }), ...more);
  const found = [['invalid_line', 2, 'line 10'], ...both('rejected_record', 1), ...both('rejected_record', 11)];
  expect(bad).toEqual({ code: 1, strict: 1, found: expect.arrayContaining(found) });
  const { out } = await check(join(folder, 'lines.jsonl'));
  const words = 'metros: time zone is not in the IANA database: field time_zone: want a Zone or Link name';
  expect(out.join('\n')).toContain(words);
  expect(out.at(-1)).toMatch(/: 4 errors, 2 warnings$/);
  const input = () => Readable.from([Buffer.from('x')]);
  const piped = await ran(['records', 'check', '-'], {}, undefined, input);
  expect(piped.out.at(-1)).toMatch(/ in standard input: 1 error, /);
});

it('records check notices misplaced records and odd timestamps in an archive, with their places', async () => {
  await using archive = await TestArchive.make();
  await archive.createTopics(4);
  const aheadMs = Date.now() + 2 * 86_400_000;
  const times = [aheadMs, 1_700_000_000_000, 1_700_000_000_000, 1_700_000_000];
  for (const [p, timestampMs] of times.entries()) await archive.append('riders', p, [rider('r1', timestampMs)]);
  const { code, out } = await check('--archive', archive.dir, '--json');
  const found = out.map((line) => JSON.parse(line)).map(({ code, count, detail }) => [code, count, detail]);
  const odd = ['timestamp_ahead', 'timestamp_before_2000'].map((name) => [name, 1, 'riders']);
  expect({ code, found }).toEqual({ code: 0, found: expect.arrayContaining([['misplaced', 3, 'riders'], ...odd]) });
  for (const place of ['riders/0@0', 'riders/3@0']) expect(out.join()).toContain(`["${place}"]`);
  expect(await check(archive.dir, '--json')).toEqual({ code, out, err: [] });
});

it('records check counts by code and detail, the most frequent first, with the first three places, and a thousand details', async () => {
  const counted = new Notices();
  counted.add('misplaced', 'rare', () => 'a place');
  for (let i = 0; i < 5; i++) counted.add('misplaced', 'frequent', () => `place ${i}`);
  const frequent = { detail: 'frequent', count: 5, places: ['place 0', 'place 1', 'place 2'] };
  expect(counted.all).toMatchObject([frequent, { detail: 'rare', count: 1 }]);
  for (let i = 0; i < 1_000; i++) counted.add('misplaced', `${i}`, () => 'a place');
  const [first, second] = counted.all;
  const others = { detail: 'and others', count: 2 };
  expect([counted.all.length, first, second]).toMatchObject([1_001, frequent, others]);
  const four = await noticed(() => {}, 'w', 'x', 'y', 'z');
  expect(four.found).toEqual([['invalid_line', 4, 'line 10']]);
  expect((await check(join(folder, 'lines.jsonl'))).out.join()).toContain('\n  at line 10, line 11, line 12, …\n');
});

it('records check has each code in its document, with the same words, and each is tried here', () => {
  const document = readFileSync(new URL('../../../docs/records-check.md', import.meta.url), 'utf8');
  expect(document.match(/^\* `\w+`: .*$/gm)).toEqual(
    [...notices.values()].map(({ code, what }) => `* \`${code}\`: ${what}`),
  );
  const others = ['invalid_line', 'rejected_record', 'misplaced', 'timestamp_ahead', 'timestamp_before_2000'];
  const tried = [...cases.flatMap(([, , found]) => found.map(([code]) => code)), ...others];
  expect([...new Set(tried)].sort()).toEqual([...notices.keys()].sort());
});
