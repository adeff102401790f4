import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inDataDir } from '../../../services/settings/data-dir.ts';
import { loadCookieKeys, loadSigningKeys } from '../../../services/settings/sign-in-files.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'ride-calendar-data-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

describe('a fault of the data folder', () => {
  it.runIf(process.platform === 'linux')('names the path and the setting where the disk is full', async () => {
    // The one file of Linux that is always full.
    const written = inDataDir('/data/cookie-key', () => writeFile('/dev/full', 'x'));
    await expect(written).rejects.toThrow(
      /^Cannot use \S+: ENOSPC: no space left on device, write; mend that, or name another folder in DATA_DIR$/,
    );
  });

  it.each([
    ['cookie-key', () => loadCookieKeys(null, dataDir)],
    ['oauth-keys.json', () => loadSigningKeys(null, dataDir)],
  ])('names the path and the setting where %s is a folder', async (name, load) => {
    await mkdir(join(dataDir, name));
    await expect(load()).rejects.toThrow(
      `Cannot use ${join(dataDir, name)}: EISDIR: illegal operation on a directory, read; mend that, or name another folder in DATA_DIR`,
    );
  });

  it('leaves errors alone that say enough', async () => {
    const own = new Error('Cannot use OAUTH_KEYS: "keys" is empty');
    await expect(inDataDir('/data', () => Promise.reject(own))).rejects.toBe(own);
  });
});
