import { hash, timingSafeEqual } from 'node:crypto';
import type { ClientMetadata } from './client-policy.ts';

const hashed = 'sha256:';
const secretHash = (id: unknown, secret: string): string => hashed + hash('sha256', `${id}\0${secret}`, 'base64url');

/**
 * A client as oidc-provider and the store have it: with the hash of its secret. Registered secrets have 512 random
 * bits, so a plain SHA-256 is enough.
 */
export function withHashedSecret(client: ClientMetadata): ClientMetadata {
  const { client_id: id, client_secret: secret } = client;
  return typeof secret === 'string' ? { ...client, client_secret: secretHash(id, secret) } : client;
}

/** Whether a secret is the one of which a client has this hash. */
export function isSecretOf(id: string, secret: string, hash: string): boolean {
  const [known, given] = [Buffer.from(hash), Buffer.from(secretHash(id, secret))];
  return known.length === given.length && timingSafeEqual(known, given);
}
