import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClientMetadata } from '../../api/sign-in/clients/client-policy.ts';
import { parseClients } from '../../api/sign-in/clients/clients.ts';
import { parseSigningKeys, type SigningKeys } from '../../api/sign-in/tokens/signing-keys.ts';
import { makeFolder } from '../../infra/archive/format/make-folder.ts';
import { inDataDir } from './data-dir.ts';
import { type Settings, SettingsError } from './settings.ts';

/** What sign-in reads from files that the settings name, or that are made once in DATA_DIR. */
export interface SignInFiles {
  keys: SigningKeys;
  cookieKeys: string[];
  clients: ClientMetadata[];
}

/** Reads all of them, before what takes time. Throws SettingsError with a line for each that cannot be used. */
export async function loadSignInFiles({ oauth, dataDir }: Settings): Promise<SignInFiles> {
  const problems: string[] = [];
  const noted = (error: Error): null => {
    if (!problems.includes(error.message)) problems.push(error.message);
    return null;
  };
  const { clientsFile: file } = oauth;
  const parse = (text: string) => parseClients(text, `OAUTH_CLIENTS ${file}`);
  const clients = file === null ? [] : await readFile(file, 'utf8').then(parse).catch(noted);
  const keys = await loadSigningKeys(oauth.keysFile, dataDir).catch(noted);
  const cookieKeys = await loadCookieKeys(oauth.cookieKeys, dataDir).catch(noted);
  if (!clients || !keys || !cookieKeys) throw new SettingsError(problems);
  return { keys, cookieKeys, clients };
}

/** Keys of this process only, which are not stored: tokens of a replay are valid nowhere else. */
export async function filesOfThisProcess(): Promise<SignInFiles> {
  const keys = await parseSigningKeys(JSON.stringify(makeKeySet()), 'keys of this process');
  return { keys, cookieKeys: [makeCookieKey()], clients: [] };
}

/**
 * The keys that sign access tokens: those of OAUTH_KEYS, or one that was made at the first start and kept in the data
 * folder, readable only by its owner. Throws an error that names the file if it cannot be read or is not a key set.
 */
export async function loadSigningKeys(file: string | null, dataDir: string): Promise<SigningKeys> {
  if (file !== null) {
    const keys = await parseSigningKeys(await readFile(file, 'utf8'), `OAUTH_KEYS ${file}`);
    // Otherwise this would be noticed only at the first token, after its code is used up.
    if (keys[0].d === undefined)
      throw new Error(`Cannot use OAUTH_KEYS ${file}: key 1 has no private part, "d"; the first key signs`);
    return keys;
  }
  const path = join(dataDir, 'oauth-keys.json');
  const text = await readOrMake(path, () => `${JSON.stringify(makeKeySet(), null, 2)}\n`);
  return await parseSigningKeys(text, path);
}

function makeKeySet() {
  const { kty, crv, x, y, d } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  return { keys: [{ kty, crv, x, y, d, alg: 'ES256', use: 'sig' }] };
}

const makeCookieKey = (): string => randomBytes(32).toString('base64url');

/** The keys that sign cookies, newest first: those of OAUTH_COOKIE_KEYS, or one that was made once and kept. */
export const loadCookieKeys = async (setting: string[] | null, dataDir: string): Promise<string[]> =>
  setting ?? [await readOrMake(join(dataDir, 'cookie-key'), makeCookieKey)];

/** Two processes that start at once get the same text: the file is linked into place, and the second one reads it. */
const readOrMake = (path: string, make: () => string): Promise<string> =>
  inDataDir(path, async () => {
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
  });
