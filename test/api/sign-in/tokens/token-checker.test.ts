import { createHmac, randomUUID } from 'node:crypto';
import { decodeJwt, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import type { AuditCause } from '../../../../api/ports/audit-trail.ts';
import { signSampleToken } from '../../../../api/sign-in/tokens/sample-token.ts';
import { privateKeyOf, publicKeyOf, type SigningKeys } from '../../../../api/sign-in/tokens/signing-keys.ts';
import { createTokenChecker } from '../../../../api/sign-in/tokens/token-checker.ts';
import { newSigningKeys } from '../../../support/sign-in/sign-in-service.ts';

const issuer = 'https://rides.example';
const audience = 'https://rides.example/api';

const [keys, foreign] = [await newSigningKeys(), await newSigningKeys()];
const impostor: SigningKeys = [{ ...foreign[0], kid: keys[0].kid }];
const checker = createTokenChecker({ issuer, audience, keys });

type Forgery = { claims?: Record<string, unknown>; typ?: string; signedBy?: SigningKeys };
async function token({ claims = {}, typ = 'at+jwt', signedBy = keys }: Forgery = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const times = { jti: randomUUID(), iat: now, exp: now + 600 };
  const whose = { iss: issuer, aud: audience, sub: 'rider-1', scope: 'read', client_id: 'app' };
  return await new SignJWT({ ...whose, ...times, ...claims })
    .setProtectedHeader({ alg: 'ES256', typ, kid: signedBy[0].kid })
    .sign(privateKeyOf(signedBy[0]));
}

const past = Math.floor(Date.now() / 1000) - 1;

describe('an access token', () => {
  test('of ours names its rider, at once the second time, and may carry more scopes beside read', async () => {
    for (const good of [
      await token(),
      await token({ claims: { scope: 'write read' } }),
      // The first key signs.
      await signSampleToken({ rider: 'rider-1', keys: [keys[0], foreign[0]], issuer, audience }),
      // Of a clock that is a little fast.
      await token({ claims: { iat: past + 50, exp: past + 650 } }),
    ]) {
      expect(await checker.check(good)).toBe('rider-1');
      expect(checker.check(good)).toBe('rider-1');
    }
  });

  // docs/rules.md#access-tokens
  test('that tries the service out is as RFC 9068 wants it, and lives as long as it says', async () => {
    const sample = { rider: 'rider-1', keys, issuer, audience };
    const { iat, exp, ...claims } = decodeJwt(await signSampleToken(sample));
    const whose = { iss: issuer, aud: audience, sub: 'rider-1', scope: 'read', client_id: 'sample' };
    expect([exp! - iat!, claims]).toEqual([600, { ...whose, jti: expect.any(String) }]);
    const later = createTokenChecker({ issuer, audience, keys, nowMs: () => Date.now() + 7 * 3_600_000 });
    expect(await later.check(await signSampleToken({ ...sample, lifetimeSeconds: 8 * 3600 }))).toBe('rider-1');
  });

  const refused: [string, Forgery, AuditCause<'token_refused' | 'unknown_key_used'>][] = [
    ['that expired', { claims: { exp: past } }, 'expired'],
    ['older than ten minutes, whatever it says', { claims: { iat: past - 600, exp: past + 600 } }, 'expired'],
    ['of a clock that is over a minute fast', { claims: { iat: past + 66, exp: past + 600 } }, 'future'],
    ['that is not valid yet', { claims: { nbf: past + 600 } }, 'malformed'],
    ['without a client', { claims: { client_id: undefined } }, 'malformed'],
    ['without a time of issue', { claims: { iat: undefined } }, 'malformed'],
    ['without an expiry', { claims: { exp: undefined } }, 'malformed'],
    ['for another resource', { claims: { aud: 'https://elsewhere.example/api' } }, 'audience'],
    ['of another issuer', { claims: { iss: 'https://elsewhere.example' } }, 'issuer'],
    ['whose scope only begins with read', { claims: { scope: 'reader' } }, 'scope'],
    ['whose sub is no rider id', { claims: { sub: 'a b' } }, 'malformed'],
    ['of more than 4,096 characters', { claims: { more: 'x'.repeat(2_800) } }, 'malformed'],
    ['that is an id token', { typ: 'JWT' }, 'malformed'],
    ['signed by a key that is not ours', { signedBy: foreign }, 'unknown_key'],
    ['signed by a foreign key under our kid', { signedBy: impostor }, 'signature'],
  ];
  // docs/rules.md#live-token, docs/audit-trail.md
  test.each(refused)('%s is refused for a cause that is told', async (_, forgery, cause) => {
    const told: unknown[] = [];
    const audit = (...args: unknown[]) => void told.push(args);
    const telling = createTokenChecker({ issuer, audience, keys, audit });
    expect(await telling.check(await token(forgery))).toBeNull();
    expect(told).toEqual([[cause === 'unknown_key' ? 'unknown_key_used' : 'token_refused', { cause }]]);
  });

  test('that is made without our private key, or from another token, is refused', async () => {
    const good = await token();
    const [header, claims, signature] = good.split('.');
    const others = (await token({ claims: { sub: 'rider-2' } })).split('.')[1];
    const headerOf = (alg: string) =>
      Buffer.from(JSON.stringify({ alg, typ: 'at+jwt', kid: keys[0].kid })).toString('base64url');
    const signed = `${headerOf('HS256')}.${claims}`;
    const publicKey = publicKeyOf(keys[0]).export({ type: 'spki', format: 'pem' });
    const byPublicKey = `${signed}.${createHmac('sha256', publicKey).update(signed).digest('base64url')}`;
    const forgeries = [`${headerOf('none')}.${claims}.`, byPublicKey, `${header}.${claims}.`, '..', '🚲'];
    for (const forged of [...forgeries, `${header}.${others}.${signature}`])
      expect(await checker.check(forged)).toBeNull();
    expect(await checker.check(good)).toBe('rider-1');
  });
});

// docs/rules.md#access-tokens
describe('the cache of verified tokens', () => {
  test('holds none past its expiry, and none from the future of a clock that was set back', async () => {
    const iat = Math.floor(Date.now() / 1000) + 86_400;
    const good = await token({ claims: { iat, exp: iat + 600 } });
    for (const [kept, over] of [[599, 600] as const, [-60, -61] as const]) {
      let now = iat * 1000;
      const timed = createTokenChecker({ issuer, audience, keys, nowMs: () => now });
      expect(await timed.check(good)).toBe('rider-1');
      now = (iat + kept) * 1000;
      expect(timed.check(good)).toBe('rider-1');
      now = (iat + over) * 1000;
      expect(await timed.check(good)).toBeNull();
    }
  });

  test('is bounded: the oldest makes room', async () => {
    const small = createTokenChecker({ issuer, audience, keys, cacheSizeMax: 2 });
    const [a, b, c] = [await token(), await token(), await token()];
    for (const each of [a, b, c]) await small.check(each);
    expect(small.check(b)).not.toBeInstanceOf(Promise);
    expect(small.check(c)).not.toBeInstanceOf(Promise);
    const again = small.check(a);
    expect(again).toBeInstanceOf(Promise);
    expect(await again).toBe('rider-1');
  });
});
