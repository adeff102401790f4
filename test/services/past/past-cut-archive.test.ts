import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manifestName, readManifest, writeManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { runCli } from '../../../services/command-line.ts';
import { heard } from '../../support/processes/heard.ts';
import { copyPortland } from '../../support/worlds/portland.ts';

let dir: string;
let archive: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'past-cut-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const run = (...args: string[]) =>
  heard((io) => runCli(args, io, { ARCHIVE_DIR: archive, DATA_DIR: join(dir, 'data'), NOW: '2026-11-01T00:00:00Z' }));

describe('an archive without a manifest whose last file is cut', () => {
  it('is read with a warning', async () => {
    archive = await copyPortland(join(dir, 'portland'));
    const folder = join(archive, 'ride-calendar.nights');
    const cut = join(folder, readdirSync(folder)[0]!);
    truncateSync(cut, statSync(cut).size - 100);
    const { err, out } = await run('history', '/rides/sh20r6756', '--json');
    const said = err.filter((line) => line.startsWith(`May not be exact: ${cut} ends within a block that begins at`));
    expect(said).toHaveLength(1);
    expect(out.join('\n')).not.toContain('ends within a block');
  });
});

describe('a made-up archive', () => {
  const doubts = async (): Promise<string[]> => {
    const { err } = await run('history', '/rides/nosuch');
    return err.filter((line) => line.startsWith('May not be exact'));
  };

  it('is exact while it has its manifest', async () => {
    archive = join(dir, 'made-up');
    mkdirSync(archive);
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
