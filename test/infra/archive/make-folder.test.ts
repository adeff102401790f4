import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolder } from '../../../infra/archive/make-folder.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ride-calendar-folder-'));
});
afterAll(() => rm(dir, { recursive: true }));

describe('a folder', () => {
  it('is made with those above it, and made again without a word', async () => {
    const path = join(dir, 'a', 'b', 'c');
    makeFolder(path, 'DATA_DIR', 0o700);
    makeFolder(path, 'DATA_DIR', 0o700);
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
