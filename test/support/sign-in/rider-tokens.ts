import { join } from 'node:path';
import { signSampleToken } from '../../../api/sign-in/tokens/sample-token.ts';
import { loadSigningKeys } from '../../../services/settings/sign-in-files.ts';

const origin = 'http://127.0.0.1:8080';

/** Tokens that services under test accept, whoever started them and wherever they listen: by keys that it makes in a folder. */
export async function riderTokens(folder: string) {
  const keys = await loadSigningKeys(null, folder);
  const audience = `${origin}/api`;
  return {
    /** Settings of the services. */
    env: { OAUTH_KEYS: join(folder, 'oauth-keys.json'), BASE_URL: audience },
    /** A token for each rider. */
    async of(...riders: string[]): Promise<Map<string, string>> {
      const common = { keys, issuer: origin, audience, lifetimeSeconds: 3_600 };
      return new Map(
        await Promise.all(riders.map(async (rider) => [rider, await signSampleToken({ rider, ...common })] as const)),
      );
    },
  };
}
