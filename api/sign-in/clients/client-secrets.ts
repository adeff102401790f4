import { hash, timingSafeEqual } from 'node:crypto';
import { Provider } from 'oidc-provider';
import type { ClientMetadata } from './client-policy.ts';

const hashed = 'sha256:';
const secretHash = (id: unknown, secret: string): string => hashed + hash('sha256', `${id}\0${secret}`, 'base64url');

/**
 * A client as oidc-provider and the store have it: with the hash of its secret. Registered secrets have 512 random bits,
 * so a plain SHA-256 is enough.
 */
export function withHashedSecret(client: ClientMetadata): ClientMetadata {
  const { client_id: id, client_secret: secret } = client;
  return typeof secret === 'string' ? { ...client, client_secret: secretHash(id, secret) } : client;
}

/**
 * Makes oidc-provider compare a client's secret with its hash, and accept it only by the method that the client
 * registered. By itself oidc-provider accepts `client_secret_basic` for `client_secret_post`, and the reverse.
 */
export function compareSecretHashes(provider: Provider): void {
  provider.Client.prototype.compareClientSecret = function (actual) {
    const inHeader = Provider.ctx!.headers.authorization !== undefined;
    if (this.tokenEndpointAuthMethod !== (inHeader ? 'client_secret_basic' : 'client_secret_post')) return false;
    const [known, given] = [Buffer.from(this.clientSecret ?? ''), Buffer.from(secretHash(this.clientId, actual))];
    return known.length === given.length && timingSafeEqual(known, given);
  };
}
