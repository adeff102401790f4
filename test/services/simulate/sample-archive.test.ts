import { mkdir, mkdtemp, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import avro from 'avsc';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { runArchiveCheck } from '../../../services/archive/archive-check.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { ensureSampleArchive } from '../../../services/simulate/sample-archive.ts';
import { quietIo } from '../../support/processes/heard.ts';

const now = Date.UTC(2026, 10, 21, 15);
const dayMs = 86_400_000;
let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'ride-calendar-sample-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

/** Records of a topic's files, as another reader of Avro sees them. */
async function readTopic(dir: string, topic: string): Promise<{ key: string; value: unknown }[]> {
  const records: { key: string; value: unknown }[] = [];
  const folder = join(dir, `ride-calendar.${topic}`);
  for (const name of await readdir(folder)) {
    const decoder = avro.createFileDecoder(join(folder, name));
    for await (const record of decoder) records.push(record as { key: string; value: unknown });
  }
  return records;
}

describe('the sample archive', () => {
  it('has records of every topic, which any Avro reader takes', async () => {
    const dir = await ensureSampleArchive({ dataDir, now });
    const { rider, developer_key: developerKey } = readManifest(dir)!.simulated!;
    const counts = await Promise.all(topicNames.map(async (topic) => (await readTopic(dir, topic)).length));
    expect(Math.min(...counts)).toBeGreaterThan(3);
    expect((await readTopic(dir, 'riders')).some(({ key, value }) => key === rider && value !== null)).toBe(true);
    expect(developerKey).toMatch(/^rck_[A-Za-z0-9_-]{43}$/);
    expect(readManifest(dir)?.exact_since).toEqual(expect.any(String));
    expect(await runArchiveCheck({ dir }, loadSettings({}), quietIo)).toBe(0);
  });

  it('is made once and taken again for a week', async () => {
    const first = await ensureSampleArchive({ dataDir, now });
    await writeFile(join(first, 'mark'), '');
    for (const days of [0, 1, 7])
      expect(await ensureSampleArchive({ dataDir, now: now + days * dayMs })).toEqual(first);
    expect(await readdir(first)).toContain('mark');
    expect((await readdir(dataDir)).length).toBe(1);
  });

  it('is made afresh once it is older than a week, or of a later day', async () => {
    const dir = await ensureSampleArchive({ dataDir, now });
    for (const days of [8, -1]) {
      expect(await ensureSampleArchive({ dataDir, now: now + days * dayMs })).not.toBe(dir);
    }
    // The first may still be in use.
    expect((await readdir(dataDir)).length).toBe(3);
  });

  it('of another generator is not taken', async () => {
    const dir = await ensureSampleArchive({ dataDir, now });
    const folder = join(dir, '..');
    await rename(folder, folder.replace(/v\d+$/, 'v0'));
    expect(await ensureSampleArchive({ dataDir, now })).toBe(dir);
    expect(await readdir(dir)).toContain('ride-calendar.riders');
  });

  it('of another KAFKA_TOPIC_PREFIX is another, kept and forgotten in the same way', async () => {
    const dir = await ensureSampleArchive({ dataDir, now });
    const other = await ensureSampleArchive({ dataDir, now, prefix: 'other.' });
    expect(other).not.toBe(dir);
    expect(await readdir(other)).toContain('other.riders');
    expect(await ensureSampleArchive({ dataDir, now, prefix: 'other.' })).toEqual(other);
    await utimes(join(other, '..'), 0, 0);
    await ensureSampleArchive({ dataDir, now: now + 40 * dayMs });
    expect((await readdir(dataDir)).filter((name) => name.endsWith('other.'))).toEqual([]);
  });

  it('that was left half made is made again', async () => {
    const dir = await ensureSampleArchive({ dataDir, now });
    await writeFile(join(dir, 'manifest.json'), '{"version":');
    await rm(join(dir, 'ride-calendar.riders'), { recursive: true });
    const again = await ensureSampleArchive({ dataDir, now });
    expect(await readdir(again)).toContain('ride-calendar.riders');
    expect(readManifest(again)!.simulated!.rider).not.toBeNull();
  });

  it('is one when several processes make it at the same time', async () => {
    const samples = await Promise.all(Array.from({ length: 2 }, () => ensureSampleArchive({ dataDir, now })));
    for (const sample of samples) expect(sample).toEqual(samples[0]);
    expect(await readdir(dataDir)).toEqual(['sample-2026-11-21-v5']);
    expect((await readTopic(samples[0]!, 'metros')).length).toBeGreaterThan(3);
  });

  it('cleans up what crashed processes left and samples of months ago, and nothing else', async () => {
    const old = ['sample-unfinished-abc', 'sample-2026-01-01-v1', 'sample-notes', 'oauth-keys.json'];
    for (const name of old) {
      await mkdir(join(dataDir, name));
      await utimes(join(dataDir, name), 0, 0);
    }
    await mkdir(join(dataDir, 'sample-unfinished-new'));
    await ensureSampleArchive({ dataDir, now });
    expect((await readdir(dataDir)).sort()).toEqual([
      'oauth-keys.json',
      'sample-2026-11-21-v5',
      'sample-notes',
      'sample-unfinished-new',
    ]);
  });
});
