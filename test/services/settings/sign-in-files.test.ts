import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inDataDir } from '../../../services/settings/data-dir.ts';
import { loadCookieKeys, loadSigningKeys } from '../../../services/settings/sign-in-files.ts';
import { testFolder } from '../../support/processes/test-folder.ts';

const all = testFolder();
let made = 0;
const folder = (): string => join(all, `${made++}`);

test('signing keys are made once and kept, as the cookie key is, readable by their owner alone', async () => {
  const dataDir = join(folder(), 'data');
  const first = await loadSigningKeys(null, dataDir);
  expect(first[0].d).toBeDefined();
  expect(await loadSigningKeys(null, dataDir)).toEqual(first);
  const cookieKeys = await loadCookieKeys(null, dataDir);
  expect(cookieKeys).toEqual([expect.stringMatching(/^[\w-]{43}$/)]);
  expect(await loadCookieKeys(null, dataDir)).toEqual(cookieKeys);
  expect((await readdir(dataDir)).sort()).toEqual(['cookie-key', 'oauth-keys.json']);
  for (const name of await readdir(dataDir)) expect((await stat(join(dataDir, name))).mode & 0o777).toBe(0o600);
});

test('signing keys are the same for processes that start at once', async () => {
  const dataDir = folder();
  const all = await Promise.all(Array.from({ length: 8 }, () => loadSigningKeys(null, dataDir)));
  expect(new Set(all.map((keys) => keys[0].kid)).size).toBe(1);
});

test('signing keys without kid get their thumbprint, the same everywhere', async () => {
  const dataDir = folder();
  const [{ kid, ...key }] = await loadSigningKeys(null, dataDir);
  const file = join(dataDir, 'file.json');
  await writeFile(file, JSON.stringify({ keys: [{ kty: key.kty, crv: key.crv, x: key.x, y: key.y, d: key.d }] }));
  expect(await loadSigningKeys(file, dataDir)).toEqual([{ ...key, kid }]);
});

const bad: [string, (key: Record<string, unknown>) => string, RegExp][] = [
  ['no JSON', () => '{"keys": [{"d": "hush', /OAUTH_KEYS .*not JSON.*JSON Web Key Set/],
  ['an empty set', () => '{"keys": []}', /"keys" is empty/],
  ['an RSA key', () => '{"keys": [{"kty": "RSA"}]}', /key 1: "kty" must be "EC"/],
  ['a public key first', ({ d, ...key }) => JSON.stringify({ keys: [key] }), /key 1 has no private part/],
  ['another key’s private part', (key) => JSON.stringify({ keys: [{ ...key, d: key.x }] }), /key 1: .*not a key on/],
  ['one kid twice', (key) => JSON.stringify({ keys: [key, key] }), /key 2: its kid/],
];
test.each(bad)('signing keys from a file with %s: the error names the file and the entry', async (_, text, message) => {
  const dataDir = folder();
  const [key] = await loadSigningKeys(null, dataDir);
  const file = join(dataDir, 'file.json');
  await writeFile(file, text({ ...key }));
  const said = await loadSigningKeys(file, dataDir).catch((error: Error) => error.message);
  expect(said).toMatch(message);
  expect(said).toContain(file);
  for (const hidden of ['hush', key.d]) expect(said).not.toContain(hidden);
});

test.runIf(process.platform === 'linux')(
  'a full disk is said with the path and the setting of the data folder',
  async () => {
    // The one file of Linux that is always full.
    const written = inDataDir('/data/cookie-key', () => writeFile('/dev/full', 'x'));
    await expect(written).rejects.toThrow(
      /^Cannot use \S+: ENOSPC: no space left on device, write; fix that, or name another folder in DATA_DIR$/,
    );
    // What we say ourselves has it already.
    const own = inDataDir('/data/cookie-key', () => Promise.reject(new Error('our words')));
    await expect(own).rejects.toThrow(/^our words$/);
  },
);
