import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { readManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { checkArchive, TestArchive } from '../../support/worlds/archive.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

const program = fileURLToPath(new URL('./save-portland.ts', import.meta.url));
const recordsInPortland = 18_418;

/** Saves Portland in a process of its own. `blocks`: no file may be larger than so many KiB, as on a full disk. */
function save(dir: string, { killAt = '', blocks = 'unlimited' } = {}) {
  const command = `ulimit -f ${blocks}; exec "${process.execPath}" "${program}" "${portlandDirectory}" "${dir}" ${killAt}`;
  const { status, signal, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' });
  return { status, signal, stderr };
}

/** Neither check, load nor start takes it for a whole one. */
async function expectUnfinished(dir: string): Promise<void> {
  const { code, problems } = await checkArchive(dir);
  expect([code, new Set(problems.map(({ kind }: { kind: string }) => kind))]).toEqual([1, new Set(['unfinished'])]);
}

const hashes = (dir: string) =>
  Object.entries(readManifest(dir)!.topics).map(([topic, { partitions }]) => [
    topic,
    partitions.map(({ hash }) => hash),
  ]);

describe('a save', () => {
  test('that is killed leaves nothing that looks whole, and the next one ends with the same archive', async () => {
    await using whole = await TestArchive.make();
    expect(save(whole.dir)).toEqual({ status: 0, signal: null, stderr: '' });
    await using archive = await TestArchive.make();
    expect(save(archive.dir, { killAt: '12000' }).signal).toBe('SIGKILL');
    await expectUnfinished(archive.dir);
    expect(save(archive.dir)).toEqual({ status: 0, signal: null, stderr: '' });
    expect(await checkArchive(archive.dir)).toMatchObject({ code: 0, records: recordsInPortland, problems: [] });
    expect(hashes(archive.dir)).toEqual(hashes(whole.dir));
  });

  test('whose disk is full names the file; with room again it goes on', async () => {
    await using archive = await TestArchive.make();
    const { status, stderr } = save(archive.dir, { blocks: '24' });
    expect(status).toBe(1);
    expect(stderr).toMatch(new RegExp(`^Cannot write ${archive.dir}/ride-calendar\\.[a-z]+/\\d-\\d{20}\\.avro: EFBIG`));
    await expectUnfinished(archive.dir);
    expect(existsSync(`${archive.dir}/.lock`)).toBe(false);
    expect(save(archive.dir)).toEqual({ status: 0, signal: null, stderr: '' });
    expect(await checkArchive(archive.dir)).toMatchObject({ code: 0, records: recordsInPortland, problems: [] });
  });
});
