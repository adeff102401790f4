import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lockArchive } from '../../../infra/archive/format/archive-lock.ts';
import type { Night, Ride } from '../../../schemas/events/records.ts';
import { draftFolder } from '../../../services/cli/draft-folder.ts';
import { metro, night, place, ride, rider, says } from '../../reference/example-log.ts';
import { ran } from '../../support/processes/ran.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { testStack } from '../../support/processes/test-stack.ts';
import { ExportInDuckDb } from '../../support/servers/duckdb.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

type Row = Record<string, unknown>;
const instant = '2015-06-13T19:00:00Z';
const dir = testFolder();
const at = (name: string): string => join(dir, name);
const run = (...args: string[]) => ran(args, { ARCHIVE_DIR: portlandDirectory, NOW: '2026-11-01T00:00:00Z' });
const said = await run('export', at('all'), '--personal');
const tables = testStack().use(await ExportInDuckDb.open(at('all')));

/** How many rows of all tables hold a text. */
async function rowsWith(name: string, text: string): Promise<number> {
  using some = await ExportInDuckDb.open(at(name));
  const files = readdirSync(at(name)).filter((file) => file.endsWith('.parquet'));
  const counts = files.map((file) =>
    some.rows(`SELECT count(*) AS n FROM '${file}' AS one WHERE one::VARCHAR LIKE '%${text}%'`),
  );
  return (await Promise.all(counts)).reduce((sum, [row]) => sum + Number(row!.n), 0);
}

it('an export has a row for each version with its record, and of a tombstone one that was never in force', async () => {
  const order = 'ORDER BY "partition", "offset"';
  const nights = await tables.rows(`FROM nights WHERE ride = 'sh20r6756' AND day = '2020-03-31' ${order}`);
  expect(nights).toMatchObject([
    { status: 'ON', valid_to: '2020-03-21 19:12:42.711+00', deleted: false, partition: 1, offset: '105' },
    { status: 'CANCELLED', valid_from: '2020-03-21 19:12:42.711+00', valid_to: null, partition: 1, offset: '107' },
  ]);
  const riders = await tables.rows(
    `SELECT deleted, handle IS NULL AS bare, valid_to = valid_from AS never, valid_to IS NULL AS open FROM riders WHERE rider = 'r0133' ${order}`,
  );
  expect(riders.at(-1)).toEqual({ deleted: true, bare: true, never: true, open: false });
  expect(riders.slice(0, -1).some(({ open }) => open)).toBe(false);
  expect(riders.length).toBeGreaterThan(1);
});

it('an export as of an instant has no later record, and says by as_of what a day answers then', async () => {
  await run('export', at('then'), '--as-of', instant);
  using then = await ExportInDuckDb.open(at('then'));
  const late = `valid_from > '${instant}'::TIMESTAMPTZ OR valid_to > '${instant}'::TIMESTAMPTZ`;
  expect(await then.rows(`SELECT count(*) AS n FROM nights WHERE ${late}`)).toEqual([{ n: '0' }]);
  const answered = await run('replay', '--as-of', instant, '--get', '/metros/portland/days/2015-06-13');
  const nights = JSON.parse(answered.out[0]!).nights.map(({ past: _, meeting, ...night }: Row) => {
    const { neighbourhood_slug: _slug, ...where } = meeting as Row;
    return { ...night, ...where };
  });
  const rows = await then.rows(`FROM as_of('${instant}') WHERE day = '2015-06-13'`);
  const plain = ({ metro: _, starts_at: _at, meet_time: time, going_count: count, ...row }: Row) => ({
    ...row,
    meet_time: (time as string | null)?.slice(0, 5) ?? null,
    going_count: Number(count),
  });
  expect(rows.map(plain)).toEqual(nights);
});

it('an export has nothing of riders without --personal, and no secret place without --secrets', async () => {
  await run('export', at('public'));
  const tables = ['days', 'districts', 'going_counts', 'metros', 'nights', 'ride_pages', 'rides'].map(
    (name) => `${name}.parquet`,
  );
  expect(readdirSync(at('public')).sort()).toEqual([...tables, 'calendar.sql', 'manifest.json'].sort());
  expect(await rowsWith('public', 'r0020')).toBe(0);
  expect(await rowsWith('all', 'r0020')).toBeGreaterThan(0);
  for (const name of ['all', 'public']) expect(await rowsWith(name, 'Lantern')).toBe(0);
  const { out } = await run('export', at('secrets'), '--secrets');
  expect(out.at(-2)).toBe('It holds the places of secret meetings');
  expect(await rowsWith('secrets', 'Lantern')).toBeGreaterThan(0);
  const led = async (name: string) => {
    using some = await ExportInDuckDb.open(at(name));
    return Number((await some.rows('SELECT count(leaders) AS n FROM rides'))[0]!.n) > 0;
  };
  expect([await led('public'), await led('all')]).toEqual([false, true]);
  // An open place of a ride that has no page is hidden with its district.
  const neverShown = async (name: string) => {
    using some = await ExportInDuckDb.open(at(name));
    const of = 'NOT secret AND ride NOT IN (SELECT ride FROM ride_pages)';
    const [row] = await some.rows(
      `SELECT count(place_name) AS places, count(district) AS districts FROM nights WHERE ${of}`,
    );
    return row;
  };
  expect(await neverShown('public')).toEqual({ places: '0', districts: '0' });
  expect(await neverShown('secrets')).not.toMatchObject({ districts: '0' });
});

it('an export hides a place in all versions of a night whose last one is secret, and in each that was', async () => {
  await using archive = await TestArchive.make(1);
  const was = (date: string, place_name: string, secret: boolean, more = {}) =>
    night('loop', date, place({ place_name, secret, ...more })) as { topic: 'nights'; key: string; value: Night };
  const pdx = [metro('pdx'), ride('loop')] as { topic: 'rides'; key: string; value: Ride }[];
  const closed = [was('2015-06-13', 'Lantern One', false), was('2015-06-13', 'Lantern Two', true)];
  const opened = [was('2015-06-14', 'Lantern Three', true), was('2015-06-14', 'Fountain', false)];
  // Its district, where the leader shows it.
  const near = [true, false].map((show_neighbourhood, i) =>
    was(`2015-06-1${i + 5}`, 'Lantern Four', true, { show_neighbourhood, district: `shown-${show_neighbourhood}` }),
  );
  await archive.write([...pdx, ...closed, ...opened, ...near]);
  // Without an instant every record counts, whatever the clock says.
  const env = { ARCHIVE_DIR: archive.dir, NOW: '2000-01-01T00:00:00Z' };
  expect((await ran(['export', at('versions')], env)).code).toBe(0);
  expect([await rowsWith('versions', 'Lantern'), await rowsWith('versions', 'Fountain')]).toEqual([0, 3]);
  expect([await rowsWith('versions', 'shown-true'), await rowsWith('versions', 'shown-false')]).toEqual([1, 0]);
});

it('an export counts who goes from one change of the count to the next: where one comes as another leaves, nothing changes', async () => {
  await using archive = await TestArchive.make(1);
  const going = (who: string, response: 'GOING' | 'NONE', timestampMs: number) => ({
    ...says(who, response, 'loop', '2015-06-13'),
    timestampMs,
  });
  const riders = ['ada', 'bo'].map((who) => ({ ...rider(who), timestampMs: 1_000 }));
  const swap = [going('ada', 'GOING', 2_000), going('ada', 'NONE', 3_000), going('bo', 'GOING', 3_000)];
  await archive.write([...riders, ...swap]);
  expect((await ran(['export', at('counts')], { ARCHIVE_DIR: archive.dir })).code).toBe(0);
  using counts = await ExportInDuckDb.open(at('counts'));
  const rows = await counts.rows(
    'SELECT epoch_ms(valid_from)::INT AS came, valid_to, count::INT AS count FROM going_counts',
  );
  expect(rows).toEqual([{ came: 2_000, valid_to: null, count: 1 }]);
});

it('an export has the final answers with their ETags, and a manifest of its files, by whose offsets replay gives the same', async () => {
  const manifest = JSON.parse(readFileSync(join(at('all'), 'manifest.json'), 'utf8'));
  const of = { version: 1, as_of: '2026-11-01T00:00:00.000Z', by: 'timestamp', personal: true, secrets: false };
  const log = { log: `the archive ${portlandDirectory}`, compacted: false, exact_since: null, rejected_records: 4 };
  expect(manifest).toMatchObject({ ...of, ...log });
  expect([said.code, ...said.out.slice(-3)]).toEqual([
    0,
    `Read ${manifest.records} records, left out 4 rejected ones; written: ${at('all')}`,
    'It holds riders’ personal data: an erased rider stays in it until it is made anew',
    `With DuckDB: cd ${at('all')} && duckdb -init calendar.sql`,
  ]);
  for (const { file, sha256 } of Object.values(manifest.tables) as { file: string; sha256: string }[]) {
    expect(hash('sha256', readFileSync(join(at('all'), file)))).toBe(sha256);
  }
  const [row] = await tables.rows("SELECT etag, answer FROM ride_pages WHERE ride = 'sh20r6756'");
  const offsets = ['--offsets', join(at('all'), 'manifest.json')];
  const again = await run('replay', ...offsets, '--get', '/rides/sh20r6756', '--json');
  expect(row!.etag).toBe(JSON.parse(again.out[0]!).etag);
  expect(again.out[0]).toContain(`"answer":${row!.answer}}`);
  const [days] = await tables.rows("SELECT count(*) AS n FROM days WHERE metro = 'portland'");
  expect(Number(days!.n)).toBeGreaterThan(50);
});

it('an export is whole or not there; what one that was killed left goes with it', async () => {
  mkdirSync(join(at('stopped'), '.unfinished-abc123'), { recursive: true });
  const { code, err } = await ran(['export', at('stopped')], { ARCHIVE_DIR: portlandDirectory }, AbortSignal.abort());
  expect([code, err.at(-1)]).toEqual([1, 'Stopped before the end: nothing was written']);
  expect(readdirSync(dir).filter((name) => name.includes('stopped'))).toEqual([]);
});

it('an export is not moved into a folder that has been filled meanwhile', () => {
  const draft = draftFolder(at('filled'), 'export');
  for (const path of [join(draft.path, 'manifest.json'), join(at('filled'), 'other')]) writeFileSync(path, '');
  const words = 'it has been filled meanwhile (other); name a new or empty folder';
  expect(() => draft.publish('manifest.json')).toThrow(words);
  draft.drop();
  expect(readdirSync(at('filled'))).toEqual(['other']);
});

it('an export fills an empty folder, which may be a mount: takes away what an export that was killed left, and lets one at work alone', async () => {
  mkdirSync(join(at('killed'), '.unfinished-abc123'), { recursive: true });
  writeFileSync(join(at('killed'), '.unfinished-abc123', 'nights.parquet'), 'half');
  const { ino } = statSync(at('killed'));
  const unlock = lockArchive(at('killed'), 'export');
  const { err } = await run('export', at('killed'));
  expect(err[0]).toMatch(/^Cannot run export: export \(process \d+ on .*wait for it/);
  unlock();
  // Of a process that is no more.
  writeFileSync(join(at('killed'), '.lock'), JSON.stringify({ pid: 2 ** 30, host: hostname(), started: '1' }));
  expect((await run('export', at('killed'))).code).toBe(0);
  expect(statSync(at('killed')).ino).toBe(ino);
  expect(readdirSync(at('killed')).sort()).toEqual(readdirSync(at('public')).sort());
});
