import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from '../../../../infra/archive/format/make-folder.ts';
import { ArchiveWriter } from '../../../../infra/archive/saving/archive-writer.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ride-calendar-folder-'));
});
afterAll(() => rm(dir, { recursive: true }));

describe('the folders of an archive', () => {
  it('can be read by their owner alone, whatever the umask: riders and secret places are in it', async () => {
    const archive = join(dir, 'new', 'archive');
    const writer = new ArchiveWriter({ dir: archive });
    writer.addPartition('riders', 0, 0);
    await writer.close();
    const folders = [archive, join(archive, 'ride-calendar.riders')];
    const modes = await Promise.all(folders.map(async (folder) => (await stat(folder)).mode & 0o777));
    expect(modes).toEqual([0o700, 0o700]);
  });

  it('that were opened to others stay so when records are added', async () => {
    const archive = join(dir, 'shared');
    makeFolder(join(archive, 'ride-calendar.riders'), 'the archive');
    for (const folder of [archive, join(archive, 'ride-calendar.riders')]) await chmod(folder, 0o755);
    const writer = new ArchiveWriter({ dir: archive });
    writer.addPartition('riders', 0, 0);
    await writer.close();
    expect((await stat(join(archive, 'ride-calendar.riders'))).mode & 0o777).toBe(0o755);
  });
});

describe('a folder', () => {
  it('is made with those above it, and made again without a word', async () => {
    const path = join(dir, 'a', 'b', 'c');
    makeFolder(path, 'DATA_DIR');
    makeFolder(path, 'DATA_DIR');
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  it('under a file is refused, naming it and what it is for', async () => {
    await writeFile(join(dir, 'file'), '');
    const path = join(dir, 'file', 'below');
    expect(() => makeFolder(path, 'DATA_DIR')).toThrow(
      `Cannot make the folder ${path}: ENOTDIR at ${path}; DATA_DIR: name one that can be made`,
    );
  });

  it.runIf(process.platform === 'linux')('where the system takes none is refused, and not tried for ever', () => {
    expect(() => makeFolder('/proc/ride-calendar/data', 'DATA_DIR')).toThrow(/Cannot make the folder \/proc\/ride/);
  });
});
