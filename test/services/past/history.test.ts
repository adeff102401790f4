import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { manifestName, readManifest, writeManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { runCli } from '../../../services/command-line.ts';
import { differencesOf, differenceText } from '../../../services/past/answers/answer-difference.ts';
import { heard } from '../../support/processes/heard.ts';
import { pastArchive } from '../../support/worlds/past-archive.ts';
import { copyPortland, portlandDirectory } from '../../support/worlds/portland.ts';
import { changeOf } from '../../support/worlds/record-arbs.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const dir = mkdtempSync(join(tmpdir(), 'history-'));
afterAll(() => rmSync(dir, { recursive: true }));

const run = (...args: string[]) =>
  heard((io) => runCli(args, io, { ARCHIVE_DIR: portlandDirectory, NOW: '2026-11-01T00:00:00Z' }));

describe('history', () => {
  it('says when a night was called off, and by which record; --json is a line for each version, with the answer’s own bytes', async () => {
    const args = ['/rides/sh20r6756', '--to', '2020-04-02T00:00:00Z'];
    const { code, out } = await run('history', ...args);
    expect(code).toBe(0);
    const at = out.findIndex((line) => line.includes('2020-03-31 status: "on" → "cancelled"'));
    expect(out[at - 1]).toBe('2020-03-21T19:12:42.711Z  nights/1@107 sh20r6756/2020-03-31');
    expect(out).toContain('2020-04-01T07:00:00.000Z  midnight passed');
    const lines = (await run('history', ...args, '--json')).out;
    const off = lines.findIndex((line) => line.includes('"offset":107'));
    const asOf = await run('replay', '--as-of', JSON.parse(lines[off]!).at, '--get', '/rides/sh20r6756');
    expect(JSON.parse(lines[off]!)).toMatchObject({ at: '2020-03-21T19:12:42.711Z', status: 200 });
    expect(lines[off]).toContain(`"answer":${asOf.out[0]}}`);
  });

  it('of several answers is what each says alone, by time, with paths and riders, and 1 if one of them never was', async () => {
    const file = join(dir, 'paths.txt');
    writeFileSync(file, '/metros/portland/days/2015-06-13\n\n/me/nights r0020\n  /me/nights\n/rides/nosuch\n');
    const until = ['--to', '2015-06-10T08:00:00Z'];
    const several = ['/rides/pp15r4935', '/rides/pp15r4935', '--from-file', file, '--rider', 'r0019'];
    const { code, out, err } = await run('history', ...several, ...until);
    const versions = out.map((line) => JSON.parse(line));
    const times = versions.map(({ at }) => at);
    expect({ code, times }).toEqual({ code: 1, times: times.toSorted() });
    expect(err).toEqual(['/rides/nosuch has no version up to 2015-06-10T08:00:00.000Z']);
    for (const [path, rider] of [
      ['/rides/pp15r4935', null],
      ['/metros/portland/days/2015-06-13', null],
      ['/me/nights', 'r0020'],
      ['/me/nights', 'r0019'],
    ] as const) {
      const alone = await run('history', path, ...(rider ? ['--rider', rider] : []), ...until, '--json');
      expect(alone.out.length).toBeGreaterThan(1);
      const same = versions.filter((one) => one.path === path && one.rider === rider);
      // A rider's begins where there was no such rider, which is 401.
      if (rider) expect(same[0]).toMatchObject({ status: 200, records: [{ topic: 'riders', key: rider }] });
      expect(same).toEqual(alone.out.map((line) => ({ path, rider, ...JSON.parse(line) })));
    }
  });

  it('of a day shows a ride once it is posted, and no longer than that', async () => {
    const { metros, riders, rides, nights } = sampleRecords;
    const posted = (is: boolean) => changeOf('rides', { ...rides, posted: is });
    const world = [changeOf('metros', metros), changeOf('riders', riders), changeOf('nights', nights)];
    const records = [...world, posted(false), posted(true), posted(false)].map((change, offset) => ({
      ...change,
      ...{ partition: 0, offset, timestampMs: offset },
    }));
    const log = { today: 0, partitions: byTopic(() => 1), records };
    await using archive = await pastArchive(log, { blockBytes: 2_000, fileBytes: 5_000 });
    const day = '/metros/portland/days/2015-06-13';
    const asked = ['history', day, '/rides/ride0001', '--archive', archive.dir];
    const { out } = await run(...asked, '--to', '1970-01-01T01:00:00Z');
    const versions = out.map((line) => JSON.parse(line)).filter(({ path }) => path === day);
    const rideIds = ({ answer }: { answer: { nights: { ride: string }[] } }) => answer.nights.map(({ ride }) => ride);
    expect(versions.map((one) => [one.records[0].offset, rideIds(one)])).toEqual([
      [0, []],
      [4, ['ride0001']],
      [5, []],
    ]);
  });

  it('warns of an archive without a manifest whose last file is cut', async () => {
    const archive = await copyPortland(join(dir, 'portland'));
    const folder = join(archive, 'ride-calendar.nights');
    const cut = join(folder, readdirSync(folder)[0]!);
    truncateSync(cut, statSync(cut).size - 100);
    const { err, out } = await run('history', '/rides/sh20r6756', '--json', '--archive', archive);
    expect(err).toEqual([expect.stringContaining(`May not be exact: ${cut} ends within a block that begins at`)]);
    expect(out.join('\n')).not.toContain('ends within a block');
  });

  it('of a made-up archive is exact while it has its manifest', async () => {
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
    const unknown = 'May not be exact: since when the archive has every record is not known';
    expect(await doubts()).toEqual([`${unknown}: no save of it has come to the end of the log`]);
    rmSync(join(archive, manifestName));
    expect(await doubts()).toEqual([`${unknown}: no manifest says so`]);
  });
});

describe('changes', () => {
  const between = ['--from', '2020-03-21T19:00:00Z', '--to', '2020-03-21T19:30:00Z'];

  it('names each answer that differs and the records behind it, and exits 1', async () => {
    const { code, out } = await run('changes', ...between, '--json');
    expect(code).toBe(1);
    const changed = out.map((line) => JSON.parse(line));
    expect(changed.map(({ path }) => path)).toEqual(['/metros/portland/days/2020-03-31', '/rides/sh20r6756']);
    for (const { records, differences } of changed) {
      expect(records).toMatchObject([{ topic: 'nights', partition: 1, offset: 107, key: 'sh20r6756/2020-03-31' }]);
      expect(differences).toEqual([{ path: 'nights sh20r6756/2020-03-31 status', before: 'on', after: 'cancelled' }]);
    }
  });

  it('names no record of a ride without a page', async () => {
    const { metros, riders, rides, nights, attendance } = sampleRecords;
    const unposted = { ...rides, ride: 'ride0002', posted: false };
    const world = [changeOf('metros', metros), changeOf('riders', riders), changeOf('rides', unposted)];
    for (const ride of ['ride0001', 'ride0002']) world.push(changeOf('nights', { ...nights, ride }));
    const answers = ['ride0002', 'ride0001'].map((ride) => changeOf('attendance', { ...attendance, ride }));
    const records = [...world, changeOf('rides', rides), ...answers].map((change, offset) => ({
      ...change,
      partition: 0,
      offset,
      timestampMs: answers.includes(change) ? 1 : 0,
    }));
    const partitions = byTopic(() => 1);
    const how = { blockBytes: 2_000, fileBytes: 5_000 };
    await using archive = await pastArchive({ today: 0, partitions, records }, how);
    const epoch = '1970-01-01T00:00:00.00';
    const between = ['--from', `${epoch}0Z`, '--to', `${epoch}1Z`];
    const { out } = await run('changes', '--archive', archive.dir, ...between, '--json');
    const changed = out.map((line) => JSON.parse(line));
    expect(changed.map(({ path }) => path)).toEqual(['/metros/portland/days/2015-06-13', '/rides/ride0001']);
    for (const { records } of changed) expect(records).toMatchObject([{ key: 'ride0001/2015-06-13/r0001' }]);
  });

  it('of one clock leaves midnights out; what never differs is exit code 0', async () => {
    const same = await run('changes', '--from', '2020-03-21T19:00:00Z', '--to', '2020-03-21T19:00:00Z');
    expect({ ...same, out: same.out.length }).toMatchObject({ code: 0, out: 1 });
    const day = ['--from', '2015-06-13T06:59:00Z', '--to', '2015-06-13T07:01:00Z', '--json'];
    const passing = await run('changes', ...day);
    expect(passing.out.map((line) => JSON.parse(line)).some(({ records }) => records.length === 0)).toBe(true);
    const held = await run('changes', ...day, '--now', '2015-06-13T07:00:00Z');
    expect(held.out.map((line) => JSON.parse(line)).some(({ records }) => records.length === 0)).toBe(false);
  });
});

describe('the difference of two answers', () => {
  const night = (ride: string, more = {}) => ({
    ride,
    title: `Ride ${ride}`,
    day: '2020-01-01',
    status: 'on',
    ...more,
  });
  const texts = (a: object, b: object) => differencesOf(JSON.stringify(a), JSON.stringify(b)).map(differenceText);

  it('goes by the ids of nights, wherever they stand', () => {
    const before = { nights: [night('a'), night('b')] };
    const after = { nights: [night('b', { status: 'cancelled' }), night('c', { going_count: 3 })] };
    expect(texts(before, after)).toEqual([
      '- nights a/2020-01-01: Ride a, on',
      'nights b/2020-01-01 status: "on" → "cancelled"',
      '+ nights c/2020-01-01: Ride c, on, 3 going',
    ]);
  });

  it('of lists of texts is the whole lists', () => {
    expect(texts({ names: ['a'] }, { names: ['a', 'b'] })).toEqual(['names: ["a"] → ["a","b"]']);
    expect(texts({ nights: [] }, { nights: [night('a')] })).toEqual(['+ nights a/2020-01-01: Ride a, on']);
  });
});
