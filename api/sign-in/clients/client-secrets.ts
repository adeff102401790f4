import { hash, timingSafeEqual } from 'node:crypto';
import type { ClientMetadata } from './client-policy.ts';

const hashed = 'sha256:';
const secretHash = (id: unknown, secret: string): string => hashed + hash('sha256', `${id}\0${secret}`, 'base64url');

/**
 * A client as oidc-provider and the store have it: with the hash of its secret (docs/rules.md#stored-credentials). A
 * client of the file may have two secrets, of which either is accepted: their hashes, with a space between them.
 * Registered secrets have 512 random bits, so a plain SHA-256 is enough.
 */
export function withHashedSecret(client: ClientMetadata): ClientMetadata {
  const { client_id: id, client_secret: secret } = client;
  if (secret === undefined) return client;
  const secrets = [secret].flat() as string[];
  return { ...client, client_secret: secrets.map((each) => secretHash(id, each)).join(' ') };
}

/** Whether a secret is one of those of which a client has these hashes. */
export function isSecretOf(id: string, secret: string, hashes: string): boolean {
  const given = Buffer.from(secretHash(id, secret));
  return hashes.split(' ').some((hash) => {
    const known = Buffer.from(hash);
    return known.length === given.length && timingSafeEqual(known, given);
  });
}
