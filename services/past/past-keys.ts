import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { parseSigningKeys } from '../../api/tokens/signing-keys.ts';
import type { SignInFiles } from '../settings/sign-in-files.ts';

/** Keys of this process only, which are not stored. Tokens of a replay are valid nowhere else. */
export async function keysOfThisProcess(): Promise<SignInFiles> {
  const { kty, crv, x, y, d } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const jwks = JSON.stringify({ keys: [{ kty, crv, x, y, d, alg: 'ES256', use: 'sig' }] });
  const keys = await parseSigningKeys(jwks, 'keys of this process');
  return { keys, cookieKeys: [randomBytes(32).toString('base64url')], clients: [] };
}
