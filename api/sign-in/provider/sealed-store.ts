import { hash, hkdfSync } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import type { StatePayload, StateStore } from '../../ports/sign-in-state.ts';

// These contain what authenticates a browser, here or at the upstream provider. A person who reads the store could
// continue in place of the browser.
const sealedKinds = new Set(['Session', 'Interaction', 'UpstreamAttempt']);

// An id that gives access by itself is stored as its hash. A person who reads the store learns nothing that works.
const bearers = new Set([...sealedKinds, 'AuthorizationCode', 'RefreshToken']);

/** Whether an entry's id gives access by itself. */
export const isBearer = (kind: string): boolean => bearers.has(kind);

/** What an entry is stored under (docs/rules.md#stored-credentials): a plain SHA-256, since all ids are random. */
export const storeId = (kind: string, id: string): string => (isBearer(kind) ? hashedId(kind, id) : id);

/** An id that is derived from another, which it does not disclose. */
export const hashedId = (kind: string, id: string): string => hash('sha256', `${kind}:${id}`, 'base64url');

/**
 * A store that encrypts what authenticates browsers (docs/rules.md#stored-credentials): AES-256-GCM, with keys derived from
 * the cookie keys. The newest key encrypts, all of them decrypt. A cookie key must be kept as long as the cookies that
 * it signed, and so outlives what it encrypts. An entry whose key is gone counts as gone.
 */
export function sealedStore(store: StateStore, cookieKeys: readonly string[]): StateStore {
  const keys = cookieKeys.map(sealingKey);
  const newest = keys[0]!;

  const seal = async (kind: string, id: string, payload: StatePayload): Promise<StatePayload> => {
    if (!sealedKinds.has(kind)) return payload;
    const sealed = await new CompactEncrypt(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: newest.kid, sub: `${kind}:${id}` })
      .encrypt(newest.secret);
    return { sealed };
  };

  const open = async (kind: string, id: string, payload: StatePayload | null): Promise<StatePayload | null> => {
    if (payload === null || !sealedKinds.has(kind)) return payload;
    try {
      const { plaintext, protectedHeader } = await compactDecrypt(payload.sealed as string, ({ kid }) => {
        const key = keys.find((each) => each.kid === kid);
        if (key === undefined) throw new Error('sealed by a key that is gone');
        return key.secret;
      });
      // An entry that was moved here from another id would be another browser's.
      if (protectedHeader.sub !== `${kind}:${id}`) return null;
      return JSON.parse(Buffer.from(plaintext).toString()) as StatePayload;
    } catch {
      return null;
    }
  };

  // `ofAccount` decrypts nothing. Its callers read grants only, which are not encrypted. They remove the rest, and must
  // find an entry whose key is gone to remove it.
  return {
    ...store,
    put: async (kind, id, payload, options) => await store.put(kind, id, await seal(kind, id, payload), options),
    find: async (kind, id) => await open(kind, id, await store.find(kind, id)),
    take: async (kind, id) => await open(kind, id, await store.take(kind, id)),
  };
}

function sealingKey(cookieKey: string) {
  const derived = (info: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', cookieKey, '', `ride-calendar sign-in state: ${info}`, bytes));
  return { kid: derived('key id', 9).toString('base64url'), secret: derived('sealing', 32) };
}
