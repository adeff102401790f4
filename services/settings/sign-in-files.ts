import type { ClientMetadata } from '../../api/oauth/client-policy.ts';
import type { SigningKeys } from '../../api/tokens/signing-keys.ts';
import { loadOAuthClients } from './oauth-clients.ts';
import { type Settings, SettingsError } from './settings.ts';
import { loadCookieKeys, loadSigningKeys } from './signing-keys.ts';

/** What sign-in reads from files that the settings name, or that are made once in DATA_DIR. */
export interface SignInFiles {
  keys: SigningKeys;
  cookieKeys: string[];
  clients: ClientMetadata[];
}

/**
 * Reads all of them, before anything that takes time. Throws SettingsError with a line for each that cannot be used.
 */
export async function loadSignInFiles({ oauth, dataDir }: Settings): Promise<SignInFiles> {
  const problems: string[] = [];
  const noted = (error: Error): null => {
    if (!problems.includes(error.message)) problems.push(error.message);
    return null;
  };
  const clients = await loadOAuthClients(oauth.clientsFile).catch(noted);
  const keys = await loadSigningKeys({ file: oauth.keysFile ?? undefined, dataDir }).catch(noted);
  const cookieKeys = await loadCookieKeys(oauth.cookieKeys ?? undefined, dataDir).catch(noted);
  if (!clients || !keys || !cookieKeys) throw new SettingsError(problems);
  return { keys, cookieKeys, clients };
}
