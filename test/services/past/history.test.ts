import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { manifestName, readManifest, writeManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { differencesOf, differenceText } from '../../../services/past/answers/answer-difference.ts';
import { metro, ride } from '../../reference/example-log.ts';
import { ran } from '../../support/processes/ran.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { TestArchive } from '../../support/worlds/archive.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

const dir = testFolder();

const run = (...args: string[]) => ran(args, { ARCHIVE_DIR: portlandDirectory, NOW: '2026-11-01T00:00:00Z' });
const unknown = 'May not be exact: since when the archive has every record is not known';

it('history says when a night was called off, and by which record; --json is a line for each version, with the answer’s own bytes', async () => {
  const args = ['/rides/sh20r6756', '--to', '2020-04-02T00:00:00Z'];
  const { code, out } = await run('history', ...args);
  expect(code).toBe(0);
  const at = out.findIndex((line) => line.includes('2020-03-31 status: "on" → "cancelled"'));
  expect(out[at - 1]).toBe('2020-03-21T19:12:42.711Z  nights/1@107 sh20r6756/2020-03-31');
  expect(out).toContain('2020-04-01T07:00:00.000Z  midnight passed');
  expect(out.slice(1, 4)).toEqual(['  status 404 → 200', '  + ride: "sh20r6756"', expect.stringContaining('+ title')]);
  const lines = (await run('history', ...args, '--json')).out;
  const off = lines.findIndex((line) => line.includes('"offset":107'));
  const asOf = await run('replay', '--as-of', JSON.parse(lines[off]!).at, '--get', '/rides/sh20r6756');
  const at1 = '2020-03-21T19:12:42.711Z';
  const place = { topic: 'nights', partition: 1, offset: 107, key: 'sh20r6756/2020-03-31' };
  const records = [{ ...place, timestamp: at1, changed_at: at1, tombstone: false }];
  expect(JSON.parse(lines[off]!)).toMatchObject({ at: at1, status: 200, records });
  expect(lines[off]).toContain(`"answer":${asOf.out[0]}}`);
});

it('history of several answers is what each says alone, by time, with paths and riders, and 1 if one of them never was', async () => {
  const day = '/metros/portland/days/2015-06-13';
  const file = join(dir, 'paths.txt');
  writeFileSync(file, `${day}\n\n/me/nights r0020\n  /me/nights\n/rides/nosuch\n`);
  const until = ['--to', '2015-06-10T08:00:00Z'];
  const several = ['/rides/pp15r4935', '/rides/pp15r4935', '--from-file', file, '--rider', 'r0019'];
  const { code, out, err } = await run('history', ...several, ...until);
  const versions = out.map((line) => JSON.parse(line));
  const times = versions.map(({ at }) => at);
  expect({ code, times }).toEqual({ code: 1, times: times.toSorted() });
  expect(err).toEqual(['/rides/nosuch has no version up to 2015-06-10T08:00:00.000Z']);
  for (const [path, rider] of [
    ['/rides/pp15r4935', null],
    ['/me/nights', 'r0020'],
  ] as const) {
    const alone = await run('history', path, ...(rider ? ['--rider', rider] : []), ...until, '--json');
    expect(alone.out.length).toBeGreaterThan(1);
    const same = versions.filter((one) => one.path === path && one.rider === rider);
    // A rider's begins where there was no such rider, which is 401.
    if (rider) expect(same[0]).toMatchObject({ status: 200, records: [{ topic: 'riders', key: rider }] });
    expect(same).toEqual(alone.out.map((line) => ({ path, rider, ...JSON.parse(line) })));
  }
  for (const [path, rider] of [[day, null] as const, ['/me/nights', 'r0019'] as const])
    expect(versions.filter((one) => one.path === path && one.rider === rider).length).toBeGreaterThan(1);
});

it('history of a made-up archive is exact while it has its manifest, and says what it doubts', async () => {
  const archive = join(dir, 'made-up');
  const doubts = async (): Promise<string[]> => {
    const { err } = await run('history', '/rides/nosuch', '--archive', archive);
    return err.filter((line) => line.startsWith('May not be exact'));
  };
  const sizes = ['--riders', '60', '--rides', '10', '--days', '5'];
  expect(await run('simulate', '--archive', archive, ...sizes)).toMatchObject({ code: 0, err: [] });
  expect(await doubts()).toEqual([]);
  const { simulated: _, ...manifest } = readManifest(archive)!;
  writeManifest(archive, { ...manifest, exact_since: null });
  expect(await doubts()).toEqual([`${unknown}: no save of it has come to the end of the log`]);
  // By the instant of the records, not the clock's, and by the first of two.
  writeManifest(archive, { ...manifest, exact_since: '2026-09-02T00:00:00Z', saved_until: '2026-09-04T00:00:00Z' });
  const [before, first, within, last, after] = [1, 2, 3, 4, 5].map((day) => `2026-09-0${day}T00:00:00Z`);
  const early = [/has every record since 2026-09-02.*: of the time before/];
  for (const [command, said] of [
    [`history /rides/nosuch --to ${last}`, []],
    ['history /rides/nosuch', [/was saved until 2026-09-04.*: what was published later/]],
    [`changes --from ${before} --to ${within}`, early],
    [`changes --from ${first} --to ${within}`, []],
    [`replay --as-of ${after} --now ${within} --get /rides/nosuch`, [/was saved until/]],
    [`export ${archive}-then --as-of ${before}`, early],
    [`export ${archive}-now`, []],
  ] as const) {
    const { err } = await run(...command.split(' '), '--archive', archive);
    const doubted = err.filter((line) => line.startsWith('May not be exact'));
    expect([command, doubted]).toEqual([command, said.map((words) => expect.stringMatching(words))]);
  }
  const { out } = await run('replay', '--as-of', within!, '--archive', archive);
  expect(out[1]).toBe('The archive has every record since 2026-09-02T00:00:00Z');
  const exported = JSON.parse(readFileSync(`${archive}-now/manifest.json`, 'utf8'));
  expect(exported).toMatchObject({ exact_since: '2026-09-02T00:00:00Z', log: `the archive ${archive}` });
  rmSync(join(archive, manifestName));
  const folder = join(archive, 'ride-calendar.rides');
  const cut = join(folder, readdirSync(folder)[0]!);
  truncateSync(cut, statSync(cut).size - 3);
  expect(await doubts()).toEqual([
    expect.stringContaining(`May not be exact: ${cut} ends within a block`),
    `${unknown}: no manifest says so`,
  ]);
});

const between = ['--from', '2020-03-21T19:00:00Z', '--to', '2020-03-21T19:30:00Z'];

it('changes names each answer that differs and the records behind it, and exits 1', async () => {
  const { code, out } = await run('changes', ...between, '--json');
  expect(code).toBe(1);
  const changed = out.map((line) => JSON.parse(line));
  expect(changed.map(({ path }) => path)).toEqual(['/metros/portland/days/2020-03-31', '/rides/sh20r6756']);
  for (const { records, differences } of changed) {
    expect(records).toMatchObject([{ topic: 'nights', partition: 1, offset: 107, key: 'sh20r6756/2020-03-31' }]);
    expect(differences).toEqual([{ path: 'nights sh20r6756/2020-03-31 status', before: 'on', after: 'cancelled' }]);
  }
});

it('changes exits 1 where one ride alone differs; counts what differs by midnight alone, which one clock leaves out; what never differs is exit code 0', async () => {
  const ride = await run('changes', '--from', '2015-06-08T13:41:16Z', '--to', '2015-06-08T13:41:18Z');
  const one = /^0 days and 1 ride differ between 2015-06-08T13:41:16.000Z and .*, by 1 record$/;
  expect([ride.code, ride.out.at(-1)]).toEqual([1, expect.stringMatching(one)]);
  const midnight = ['--from', '2015-06-13T06:59:00Z', '--to', '2015-06-13T07:00:00Z'];
  const { out, err } = await run('changes', ...midnight);
  expect(out.at(-1)).toMatch(/^1 day and 9 rides differ between .*, by 0 records, 10 of them by midnight alone$/);
  expect(out.join('\n')).toContain('past: false → true\n  by no record: midnight passed\n');
  expect(err).toEqual([`${unknown}: no manifest says so`]);
  const held = await run('changes', ...midnight, '--now', '2015-06-13T07:00:00Z');
  const none = expect.stringMatching(/^No answer differs between 2015-06-13T06:59/);
  expect([held.code, held.out]).toEqual([0, [none]]);
});

it('history and changes go by the log’s timestamps unless told to go by upstream’s time; history ends now, which is NOW', async () => {
  await using archive = await TestArchive.make(1);
  // Published in 2023, changed in 1970.
  await archive.write([metro('pdx'), ride('loop')]);
  const by = async (command: string, ...more: string[]) =>
    ran([...command.split(' '), ...more], { ARCHIVE_DIR: archive.dir, NOW: '2010-01-01T00:00:00Z' });
  const late = await by('history /rides/loop');
  expect([late.code, late.err.at(-1)]).toEqual([1, '/rides/loop has no version up to 2010-01-01T00:00:00.000Z']);
  expect((await by('history /rides/loop', '--by', 'changed_at')).code).toBe(0);
  const since = 'changes --from 2010-01-01T00:00:00Z --to 2024-01-01T00:00:00Z';
  expect([await by(since), await by(since, '--by', 'changed_at')]).toMatchObject([{ code: 1 }, { code: 0 }]);
});

const night = (ride: string, more = {}) => ({ ride, title: `Ride ${ride}`, day: '2020-01-01', status: 'on', ...more });
const texts = (a: object, b: object) => differencesOf(JSON.stringify(a), JSON.stringify(b)).map(differenceText);

it('the difference of two answers goes by the ids of nights, wherever they stand, and of lists of texts is the whole lists', () => {
  const before = { nights: [night('a'), night('b')], names: ['a'] };
  const after = { nights: [night('b', { status: 'cancelled' }), night('c', { going_count: 3 })], names: ['a', 'b'] };
  expect(texts(before, after)).toEqual([
    '- nights a/2020-01-01: Ride a, on',
    'nights b/2020-01-01 status: "on" → "cancelled"',
    '+ nights c/2020-01-01: Ride c, on, 3 going',
    'names: ["a"] → ["a","b"]',
  ]);
});

it('the difference of two answers goes by the nights and riders of a rider’s own answers too, unless two have one handle; of what comes anew says how much', () => {
  const rider = (handle: string, more = {}) => ({ handle, name: null, close: false, ...more });
  const friends = (...all: object[]) => ({ nights: [{ night: night('a'), friends: all }] });
  expect(texts(friends(rider('x'), rider('y')), friends(rider('y', { close: true })))).toEqual([
    expect.stringMatching(/^- nights a\/2020-01-01 friends x: \{"handle"/),
    'nights a/2020-01-01 friends y close: false → true',
  ]);
  const [same, other] = [friends(rider('x'), rider('x')), friends(rider('x'))];
  expect(texts(same, other)).toEqual([expect.stringMatching(/^nights a\/2020-01-01 friends: \[.*\] → \[.*\]$/)]);
  const own = { nights: [], flagged: [{ ride: 'a', day: '2020-01-01', riders: [] }] };
  const anew = differencesOf('', JSON.stringify(own)).map(differenceText);
  expect(anew).toEqual(['+ nights: []', '+ flagged (1)']);
  const one = { nights: [{ why: 'led', night: night('a') }] };
  expect(texts({ nights: [] }, one)).toEqual(['+ nights a/2020-01-01: Ride a, on']);
});
