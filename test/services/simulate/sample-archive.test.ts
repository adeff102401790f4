import { mkdir, mkdtemp, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { ensureSampleArchive } from '../../../services/simulate/sample-archive.ts';
import { generatorVersion } from '../../../services/simulate/world/simulation.ts';
import { checkArchive } from '../../support/worlds/archive.ts';
import { readPortland as readWithAvsc } from '../../support/worlds/portland.ts';

const now = Date.UTC(2026, 10, 21, 15);
const dayMs = 86_400_000;
let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'ride-calendar-sample-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

describe('the sample archive', () => {
  it('has records of every topic, which any Avro reader takes, and is as its manifest says', async () => {
    const dir = await ensureSampleArchive({ dataDir, now });
    const records = await readWithAvsc(dir);
    const counts = topicNames.map((topic) => records.filter((one) => one.topic === topic).length);
    expect(Math.min(...counts)).toBeGreaterThan(3);
    expect(readManifest(dir)).toMatchObject({
      exact_since: expect.any(String),
      simulated: { rider: expect.any(String) },
    });
    expect((await checkArchive(dir)).code).toBe(0);
  });

  it('is made once and taken for a week, by the same generator and of the same KAFKA_TOPIC_PREFIX; then afresh', async () => {
    const first = await ensureSampleArchive({ dataDir, now });
    await writeFile(join(first, 'mark'), '');
    for (const days of [0, 1, 7])
      expect(await ensureSampleArchive({ dataDir, now: now + days * dayMs })).toEqual(first);
    expect(await readdir(first)).toContain('mark');
    const other = await ensureSampleArchive({ dataDir, now, prefix: 'other.' });
    expect(await readdir(other)).toContain('other.riders');
    expect(await ensureSampleArchive({ dataDir, now, prefix: 'other.' })).toEqual(other);
    for (const days of [8, -1]) expect(await ensureSampleArchive({ dataDir, now: now + days * dayMs })).not.toBe(first);
    // The first may still be in use.
    expect((await readdir(dataDir)).length).toBe(4);
    await rename(dirname(first), dirname(first).replace(/v\d+$/, 'v0'));
    await rm(join(dataDir, `sample-2026-11-20-v${generatorVersion}`), { recursive: true });
    expect(await ensureSampleArchive({ dataDir, now })).toBe(first);
    expect(await readdir(first)).not.toContain('mark');
  });

  it('that was left half made is made again', async () => {
    const dir = await ensureSampleArchive({ dataDir, now });
    await writeFile(join(dir, 'manifest.json'), '{"version":');
    await rm(join(dir, 'ride-calendar.riders'), { recursive: true });
    const again = await ensureSampleArchive({ dataDir, now });
    expect(await readdir(again)).toContain('ride-calendar.riders');
    expect(readManifest(again)!.simulated!.rider).not.toBeNull();
  });

  it('is one when several processes make it, and only what crashed or is a month old is cleaned up', async () => {
    for (const name of ['sample-unfinished-abc', 'sample-2026-01-01-v1-other.', 'sample-notes', 'oauth-keys.json']) {
      await mkdir(join(dataDir, name));
      await utimes(join(dataDir, name), 0, 0);
    }
    await mkdir(join(dataDir, 'sample-unfinished-new'));
    const [one, other] = await Promise.all([1, 2].map(() => ensureSampleArchive({ dataDir, now })));
    expect(other).toBe(one);
    const left = ['oauth-keys.json', `sample-2026-11-21-v${generatorVersion}`, 'sample-notes', 'sample-unfinished-new'];
    expect((await readdir(dataDir)).sort()).toEqual(left);
  });
});
