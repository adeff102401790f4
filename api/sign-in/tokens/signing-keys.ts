import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { z } from 'zod';

const coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'is not 32 bytes in base64url');
const keyShape = z.object({
  kty: z.literal('EC', 'must be "EC"'),
  crv: z.literal('P-256', 'must be "P-256"'),
  x: coordinate,
  y: coordinate,
  /** The private part. Absent if a process only checks tokens. */
  d: coordinate.exactOptional(),
  kid: z.string().min(1).max(128).exactOptional(),
  alg: z.literal('ES256', 'must be "ES256"').default('ES256'),
  use: z.literal('sig', 'must be "sig"').default('sig'),
});

/**
 * The keys that sign access tokens: ES256 only, each with a `kid`. The first key signs, all of them verify. So a key is
 * rotated by appending it everywhere, then moving it to the front, then removing the old one (docs/sign-in.md).
 */
export type SigningKey = z.infer<typeof keyShape> & { kid: string };
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

const probe = Buffer.from('signed and verified to see whether a key is one pair');
const setShape = z.object({ keys: z.array(z.unknown()).min(1, 'is empty: it needs at least one key') });

/**
 * Reads a JSON Web Key Set (RFC 7517). A key without `kid` gets its thumbprint (RFC 7638), which is the same on every
 * instance. Throws an error that names `where` and the entry, and never shows key material.
 */
export async function parseSigningKeys(text: string, where: string): Promise<SigningKeys> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's own message would quote the text, which is a private key.
    throw new Error(`Cannot read ${where}: it is not JSON; it must be a JSON Web Key Set, {"keys": [...]}`);
  }
  const set = setShape.safeParse(json);
  if (!set.success) throw new Error(`Cannot read ${where}: ${problemOf(set.error, '"keys"')}`);
  const keys: SigningKey[] = [];
  for (const [i, entry] of set.data.keys.entries()) {
    const parsed = keyShape.safeParse(entry);
    if (!parsed.success) throw new Error(`Cannot read ${where}: key ${i + 1}: ${problemOf(parsed.error, 'it')}`);
    const { data } = parsed;
    const key: SigningKey = { ...data, kid: data.kid ?? (await calculateJwkThumbprint(data)) };
    if (keys.some((other) => other.kid === key.kid))
      throw new Error(`Cannot read ${where}: key ${i + 1}: its kid is that of an earlier key; each needs its own`);
    try {
      const publicKey = publicKeyOf(key);
      // A private part of another key pair would sign tokens that nobody accepts. Node does not check this.
      if (key.d !== undefined && !verify('sha256', probe, publicKey, sign('sha256', probe, privateKeyOf(key))))
        throw new Error('not a pair');
    } catch {
      throw new Error(`Cannot read ${where}: key ${i + 1}: x, y and d are not a key on P-256`);
    }
    keys.push(key);
  }
  return keys as [SigningKey, ...SigningKey[]];
}

/** A key to verify with. */
export const publicKeyOf = ({ kty, crv, x, y }: SigningKey): KeyObject =>
  createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' });

/** A key to sign with. Throws if the private part is absent. */
export function privateKeyOf({ kty, crv, x, y, d, kid }: SigningKey): KeyObject {
  if (d === undefined) throw new Error(`Cannot sign with key ${kid}: it has no private part, "d"`);
  return createPrivateKey({ key: { kty, crv, x, y, d }, format: 'jwk' });
}

const problemOf = (error: z.ZodError, whole: string): string =>
  error.issues
    .map((issue) => `${issue.path.length > 0 ? `"${issue.path.join('.')}"` : whole} ${issue.message}`)
    .join('; ');
