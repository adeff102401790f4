import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseSigningKeys, type SigningKeys } from '../../api/tokens/signing-keys.ts';
import { makeFolder } from '../../infra/archive/make-folder.ts';
import { inDataDir } from './data-dir.ts';

export interface KeySource {
  /** OAUTH_KEYS: a JSON Web Key Set. */
  file?: string | undefined;
  /** Where a key is made once and kept, if there is no file. */
  dataDir: string;
}

/**
 * The keys that sign access tokens: those of OAUTH_KEYS, or one that was made at the first start and kept in the data
 * folder, readable only by its owner. Throws an error that names the file if it cannot be read or is not a key set.
 */
export async function loadSigningKeys({ file, dataDir }: KeySource): Promise<SigningKeys> {
  if (file !== undefined) {
    const keys = await parseSigningKeys(await readNamed(file, 'OAUTH_KEYS'), `OAUTH_KEYS ${file}`);
    // Otherwise this would be noticed only at the first token, after its code is used up.
    if (keys[0].d === undefined)
      throw new Error(`Cannot use OAUTH_KEYS ${file}: key 1 has no private part, "d"; the first key signs`);
    return keys;
  }
  const path = join(dataDir, 'oauth-keys.json');
  const text = await readOrMake(path, () => {
    const { kty, crv, x, y, d } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      format: 'jwk',
    });
    return `${JSON.stringify({ keys: [{ kty, crv, x, y, d, alg: 'ES256', use: 'sig' }] }, null, 2)}\n`;
  });
  return await parseSigningKeys(text, path);
}

/**
 * The keys that sign cookies, newest first: those of OAUTH_COOKIE_KEYS (separated by commas, the same for all
 * instances), or one that was made once and kept in the data folder.
 */
export async function loadCookieKeys(setting: string | undefined, dataDir: string): Promise<string[]> {
  const keys = (setting ?? (await readOrMake(join(dataDir, 'cookie-key'), () => randomBytes(32).toString('base64url'))))
    .split(',')
    .map((key) => key.trim());
  const short = keys.findIndex((key) => key.length < 32);
  if (short >= 0)
    throw new Error(
      `Cannot use OAUTH_COOKIE_KEYS: key ${short + 1} is shorter than 32 characters; make it of 32 random bytes`,
    );
  return keys;
}

async function readNamed(path: string, setting: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new Error(`Cannot read ${setting} ${path}: ${(cause as NodeJS.ErrnoException).code}`, { cause });
  }
}

/**
 * Two processes that start at once must get the same text. The file is linked into place, and the second process reads
 * it.
 */
function readOrMake(path: string, make: () => string): Promise<string> {
  return inDataDir(path, () => readOrMakeFile(path, make));
}

async function readOrMakeFile(path: string, make: () => string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  makeFolder(dirname(path), 'DATA_DIR');
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, make(), { mode: 0o600, flag: 'wx' });
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return await readFile(path, 'utf8');
}
