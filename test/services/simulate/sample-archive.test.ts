import { mkdir, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { readManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { ensureSampleArchive } from '../../../services/simulate/sample-archive.ts';
import { generatorVersion } from '../../../services/simulate/world/simulation.ts';
import { testFolder } from '../../support/processes/test-folder.ts';
import { checkArchive } from '../../support/worlds/archive.ts';

const now = Date.UTC(2026, 10, 21, 15);
const dayMs = 86_400_000;
const folder = testFolder();
let dataDir: string;
beforeEach(({ task }) => {
  dataDir = join(folder, task.id);
});

it('the sample archive is made once and taken for a week, by the same generator and of the same KAFKA_TOPIC_PREFIX; then afresh', async () => {
  const first = await ensureSampleArchive({ dataDir, now });
  await writeFile(join(first, 'mark'), '');
  for (const days of [0, 1, 7]) expect(await ensureSampleArchive({ dataDir, now: now + days * dayMs })).toEqual(first);
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

it('the sample archive that was left half made is made again', async () => {
  const dir = await ensureSampleArchive({ dataDir, now });
  await writeFile(join(dir, 'manifest.json'), '{"version":');
  await rm(join(dir, 'ride-calendar.riders'), { recursive: true });
  const again = await ensureSampleArchive({ dataDir, now });
  expect(readManifest(again)!.simulated!.rider).not.toBeNull();
  expect((await checkArchive(again)).code).toBe(0);
});

it('the sample archive is one when several processes make it, and only what crashed or is a month old is cleaned up', async () => {
  for (const name of ['sample-unfinished-abc', 'sample-2026-01-01-v1-other.', 'sample-notes', 'oauth-keys.json']) {
    await mkdir(join(dataDir, name), { recursive: true });
    await utimes(join(dataDir, name), 0, 0);
  }
  await mkdir(join(dataDir, 'sample-unfinished-new'));
  const [one, other] = await Promise.all([1, 2].map(() => ensureSampleArchive({ dataDir, now })));
  expect(other).toBe(one);
  const left = ['oauth-keys.json', `sample-2026-11-21-v${generatorVersion}`, 'sample-notes', 'sample-unfinished-new'];
  expect((await readdir(dataDir)).sort()).toEqual(left);
});
