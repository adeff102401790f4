import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { runCli } from '../../../services/command-line.ts';
import { notices } from '../../../services/records/checking/notices.ts';
import { references } from '../../../services/records/checking/references.ts';
import { heard } from '../../support/processes/heard.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { rider } from '../../support/worlds/records.ts';

const example = new URL('../../../docs/example-records.jsonl', import.meta.url);
const good = readFileSync(example, 'utf8').trim().split('\n');
const folder = await mkdtemp(join(tmpdir(), 'ride-calendar-check-'));
const check = (...args: string[]) => heard((io) => runCli(['records', 'check', ...args], io, { LOG_LEVEL: 'silent' }));

/** What is noticed in the example's records with some changed, left out or added: code, count, first places. */
async function noticed(
  change: (lines: { topic: string; key: string; value: Record<string, unknown> | null }[]) => unknown,
  ...more: string[]
) {
  const lines = good.map((line) => JSON.parse(line));
  change(lines);
  const file = join(folder, 'lines.jsonl');
  await writeFile(file, [...lines.map((line) => JSON.stringify(line)), ...more].join('\n'));
  const { code, out } = await check(file, '--json');
  const found = out.map((line) => JSON.parse(line)).map(({ code, count, places }) => [code, count, places[0]]);
  return { code, found, strict: (await check(file, '--strict')).code };
}

type Lines = { topic: string; key: string; value: Record<string, unknown> | null }[];
/** The names of a schema's fields that are texts, or lists of them. */
function* textsIn(schema: unknown, name: string): Generator<string> {
  if (schema === 'string') yield name;
  for (const one of Array.isArray(schema) ? schema : []) yield* textsIn(one, name);
  const { type, items, fields } = schema as {
    type?: unknown;
    items?: unknown;
    fields?: { name: string; type: unknown }[];
  };
  for (const inner of [items, typeof type === 'object' && type]) if (inner) yield* textsIn(inner, name);
  for (const field of fields ?? []) yield* textsIn(field.type, name ? `${name}.${field.name}` : field.name);
}

const of = (lines: Lines, topic: string) => lines.find((one) => one.topic === topic)!;
const set = (topic: string, change: object) => (lines: Lines) => Object.assign(of(lines, topic).value!, change);
const without = (topic: string, key?: string) => (lines: Lines) =>
  lines.splice(
    lines.findIndex((one) => one.topic === topic && (key === undefined || one.key === key)),
    1,
  );
const again = (topic: string, change: object) => (lines: Lines) =>
  lines.push({ ...of(lines, topic), value: { ...of(lines, topic).value, ...change } });

const cases: [string, (lines: Lines) => unknown, [string, number, string][]][] = [
  [
    'a metro that is missing',
    without('metros'),
    [
      ['unknown_metro', 1, 'line 1'],
      ['unknown_metro', 1, 'line 5'],
    ],
  ],
  ['a ride that is missing', without('rides'), [['unknown_ride', 1, 'line 6']]],
  ['a district that is missing', without('districts'), [['unknown_district', 1, 'line 6']]],
  [
    'a rider who is missing, and whom an RSVP and a relation name',
    without('riders', 'u_bo'),
    [
      ['unknown_rider', 1, 'line 7'],
      ['unknown_rider', 1, 'line 8'],
    ],
  ],
  [
    'a rider who is missing, and whom a ride and a relation name',
    without('riders', 'u_ada'),
    [
      ['unknown_rider', 1, 'line 5'],
      ['unknown_rider', 1, 'line 8'],
    ],
  ],
  [
    'a night that is missing, by its own RSVP, not by another of the same rider',
    (lines) =>
      lines.splice(7, 0, {
        topic: 'attendance',
        key: 'taco/2026-12-01/u_bo',
        value: { ...of(lines, 'attendance').value, day: '2026-12-01', response: 'CONFIRMED' },
      }),
    [['unknown_night', 1, 'line 8']],
  ],
  [
    'a night that is missing of a ride without others',
    without('nights'),
    [
      ['unknown_night', 1, 'line 7'],
      ['ride_without_nights', 1, 'line 6'],
    ],
  ],
  ['that there is nothing', (lines) => lines.splice(0), [['no_records', 1, 'the start']]],
  ['two riders of one handle', set('riders', { handle: 'bo' }), [['shared_handle', 1, 'line 5']]],
  ['a title of spaces', set('rides', { title: ' ' }), [['empty_title', 1, 'line 6']]],
  ['a meet time in seconds', set('nights', { meet_time: '00:01:06.600' }), [['meet_times_near_midnight', 1, 'line 7']]],
  [
    'changed_at in seconds',
    set('metros', { changed_at: '1970-01-21T12:00:00Z' }),
    [['changed_at_before_2000', 1, 'line 1']],
  ],
  [
    'changed_at in microseconds',
    set('metros', { changed_at: '9999-12-31T00:00:00Z' }),
    [['changed_at_ahead', 1, 'line 1']],
  ],
  ['a revision that fell', again('metros', { revision: 0 }), [['revision_fell', 1, 'line 10']]],
  [
    'a tombstone of a metro',
    (lines) => lines.push({ topic: 'metros', key: 'portland', value: null }),
    [
      ['unknown_metro', 1, 'line 2'],
      ['unknown_metro', 1, 'line 6'],
    ],
  ],
  [
    'a record of before that named another metro',
    (lines) => lines.unshift({ topic: 'rides', key: 'taco', value: { ...of(lines, 'rides').value, metro: 'gone' } }),
    [],
  ],
];

// docs/rules.md#records-check
describe('records check', () => {
  it('finds nothing in the example records', async () => {
    expect(await noticed(() => {})).toEqual({ code: 0, found: [], strict: 0 });
    const { out } = await check(example.pathname);
    expect(out).toEqual([`9 records in ${example.pathname}: 0 errors, 0 warnings`]);
  });

  it.each(cases)('notices %s', async (_, change, found) => {
    expect(await noticed(change)).toEqual({ code: 0, found, strict: found.length > 0 ? 1 : 0 });
  });

  it('says each place once', async () => {
    const lost = (key: string) => ({ topic: 'relations', key: `u_x/${key}`, value: null }) as Lines[number];
    const { found } = await noticed((lines) => {
      const { value } = of(lines, 'relations');
      for (const other of ['u_ada', 'u_bo']) lines.push({ ...lost(other), value: { ...value, rider: 'u_x', other } });
    });
    expect(found).toEqual([['unknown_rider', 2, 'line 11']]);
    const { out } = await check(join(folder, 'lines.jsonl'));
    expect(out[0]).toContain('the rider has no record: relations: field rider\n  at line 11, …\n');
  });

  it('says bad lines and bad records as errors, by field and rule', async () => {
    const bad = await noticed(
      set('metros', { time_zone: 'Mars' }),
      'x',
      '{"topic":"riders","key":"a b","value":null}',
      'y',
    );
    expect(bad).toEqual({
      code: 1,
      strict: 1,
      found: expect.arrayContaining([
        ['bad_line', 2, 'line 10'],
        ['bad_record', 1, 'line 1'],
        ['bad_record', 1, 'line 11'],
      ]),
    });
    const { out } = await check(join(folder, 'lines.jsonl'));
    expect(out.join('\n')).toContain(
      'metros: time zone is not in the IANA database: field time_zone: want a Zone or Link name',
    );
    expect(out.at(-1)).toMatch(/: 4 errors, 2 warnings$/);
  });

  it('notices misplaced records and odd timestamps in an archive, with their places', async () => {
    await using archive = await TestArchive.make();
    await archive.createTopics(4);
    const aheadMs = Date.now() + 2 * 86_400_000;
    const times = [aheadMs, 1_700_000_000, 1_700_000_000_000, 1_700_000_000_000];
    for (const [p, timestampMs] of times.entries()) await archive.append('riders', p, [rider('r1', timestampMs)]);
    for (const args of [[archive.dir], ['--archive', archive.dir]]) {
      const { code, out } = await check(...args, '--json');
      const found = out.map((line) => JSON.parse(line)).map(({ code, count, detail }) => [code, count, detail]);
      expect({ code, found }).toMatchObject({ code: 0 });
      expect(found).toContainEqual(['misplaced', 3, 'riders']);
      expect(found).toContainEqual(['timestamp_ahead', 1, 'riders']);
      expect(found).toContainEqual(['timestamp_before_2000', 1, 'riders']);
      expect(out.join()).toContain('riders/0@0');
    }
  });

  it.each([
    [['/nope'], 'there is no /nope'],
    [[folder, '--archive', folder], 'want a file or --archive, not both'],
  ])('%j is wrong usage', async (args, words) => {
    const { code, err } = await check(...args);
    expect({ code, err: err.join() }).toEqual({ code: 2, err: expect.stringContaining(words) });
  });

  it('has each code in its document, with the same words, and each is tried here', () => {
    const document = readFileSync(new URL('../../../docs/records-check.md', import.meta.url), 'utf8');
    expect(document.match(/^\| `.*$/gm)).toEqual([...notices.values()].map(({ row }) => row));
    const tried = [
      ...cases.flatMap(([, , found]) => found.map(([code]) => code)),
      'bad_line',
      'bad_record',
      'misplaced',
      'timestamp_ahead',
      'timestamp_before_2000',
    ];
    expect([...new Set(tried)].sort()).toEqual([...notices.keys()].sort());
  });

  // docs/rules.md#unchecked-references
  it('looks after every text of the schemas that names another record', () => {
    const texts = topicNames.flatMap((topic) =>
      [...textsIn(topicSchemas[topic], '')].map((field) => `${topic} ${field}`),
    );
    const refer = references.map(({ topic, field }) => `${topic} ${field.replace('ride and day', 'ride')}`);
    expect(texts.filter((one) => !refer.includes(one))).toEqual([
      'metros metro',
      'metros name',
      'metros time_zone',
      'districts district',
      'districts name',
      'developer-keys key_id',
      'developer-keys label',
      'riders rider',
      'riders handle',
      'riders name',
      'rides ride',
      'rides title',
      'rides description',
      'rides type',
      'rides url',
      'nights cancellation_reason',
      'nights meeting.place_name',
      'nights url',
    ]);
    expect(refer.filter((one) => !texts.includes(one))).toEqual([]);
  });
});
