import { randomUUID } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signSampleToken } from '../../../api/tokens/sample-token.ts';
import { privateKeyOf, type SigningKeys } from '../../../api/tokens/signing-keys.ts';
import { createTokenChecker } from '../../../api/tokens/token-checker.ts';
import { gone, rider } from '../../reference/example-log.ts';
import { type HttpService, startHttpService } from '../../support/http-service.ts';
import { newSigningKeys } from '../../support/sign-in-service.ts';
import { everyOperation, riderOperations, smallWorld, withKey, withToken } from '../../support/small-world.ts';

/** Tokens of every wrong kind on the riders' own operations and on public reads, over sockets. */

const issuer = 'https://rides.example';
const audience = 'https://rides.example/api';
let keys: SigningKeys;
let service: HttpService;
let good: string;

beforeAll(async () => {
  keys = await newSigningKeys();
  service = await startHttpService({ checker: createTokenChecker({ issuer, audience, keys }) });
  good = await signSampleToken({ rider: 'ada', keys, issuer, audience });
});
afterAll(() => service.close());

async function signed(claims: JWTPayload = {}, by: SigningKeys = keys): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: issuer, aud: audience, sub: 'ada', scope: 'read', client_id: 'app', iat: now, exp: now + 600 };
  return await new SignJWT({ ...all, jti: randomUUID(), ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: by[0].kid })
    .sign(privateKeyOf(by[0]));
}

const wrong: Record<string, () => Promise<string> | string> = {
  'that expired': () => signed({ exp: Math.floor(Date.now() / 1000) - 1 }),
  'signed by a foreign key': async () => signed({}, await newSigningKeys()),
  'of an erased rider': () => signed({ sub: smallWorld.erasedRider }),
  'of a rider who never was': () => signed({ sub: 'nobody' }),
  'with a space in it': () => good.replace('.', ' .'),
  'of 20 kB': () => 'x'.repeat(20_000),
  'that is a developer key': () => smallWorld.liveKey,
};

// docs/rules.md#live-token
describe.each(Object.keys(wrong))('a token %s', (kind) => {
  it('is 401 without a body on all that is a rider’s own', async () => {
    const token = await wrong[kind]!();
    for (const { path } of riderOperations) {
      for (const headers of [withToken(token), { ...withKey(), ...withToken(token) }]) {
        const answer = await service.ask(path, headers);
        expect([answer.status, answer.body.length]).toEqual([401, 0]);
        expect(answer.headers['www-authenticate']).toBe(
          `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/api", scope="read", error="invalid_token"`,
        );
      }
    }
  });

  it('is 401 on public reads as a missing key is, and does no harm beside a live key', async () => {
    const token = await wrong[kind]!();
    for (const { path } of everyOperation.slice(0, 2)) {
      const answer = await service.ask(path, withToken(token));
      expect([answer.status, answer.body]).toEqual([401, (await service.ask(path)).body]);
      expect((await service.ask(path, { ...withKey(), ...withToken(token) })).status).toBe(200);
    }
  });
});

describe('a live token', () => {
  it('opens all that is a rider’s own, and public reads', async () => {
    for (const { path } of everyOperation) expect((await service.ask(path, withToken(good))).status).toBe(200);
  });

  // docs/rules.md#bearer
  it('in the query, a cookie or a body is none', async () => {
    for (const name of ['access_token', 'token', 'bearer', 'authorization']) {
      expect((await service.ask(`/me/nights?${name}=${good}`)).status).toBe(401);
    }
    expect((await service.ask('/me/nights', { Cookie: `access_token=${good}` })).status).toBe(401);
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await service.ask('/me/nights', form, 'GET', `access_token=${good}`)).status).toBe(401);
    expect((await service.ask('/me/nights', { 'X-Api-Key': good })).status).toBe(401);
  });

  // docs/rules.md#live-token, #ended-tokens
  it('ends with its rider, at once, and lives again with them', async () => {
    const token = await signed({ sub: 'bo' });
    expect((await service.ask('/me/nights', withToken(token))).status).toBe(200);
    expect((await service.ask(smallWorld.day, withToken(token))).status).toBe(200);
    await service.publish([gone('riders', 'bo')]);
    expect((await service.ask('/me/nights', withToken(token))).status).toBe(401);
    expect((await service.ask(smallWorld.day, withToken(token))).status).toBe(401);
    await service.publish([rider('bo')]);
    expect((await service.ask('/me/nights', withToken(token))).status).toBe(200);
  });

  it('shows its own rider’s nights and nobody else’s', async () => {
    const of = async (sub: string) =>
      (await service.ask('/me/nights', withToken(await signed({ sub })))).body.toString();
    const why = (body: string) => JSON.parse(body).nights.map((each: { why: string }) => each.why);
    expect(why(await of('ada'))).toContain('led');
    expect(why(await of('cy'))).not.toContain('led');
    expect(await of('cy')).not.toContain('"handle"');
  });
});
