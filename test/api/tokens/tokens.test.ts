import { createHmac, randomUUID } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signSampleToken } from '../../../api/tokens/sample-token.ts';
import { privateKeyOf, publicKeyOf, type SigningKeys } from '../../../api/tokens/signing-keys.ts';
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

async function signed(claims: JWTPayload = {}, header: object = {}, by: SigningKeys = keys): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: issuer, aud: audience, sub: 'ada', scope: 'read', client_id: 'app', iat: now, exp: now + 600 };
  return await new SignJWT({ ...all, jti: randomUUID(), ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: by[0].kid, ...header })
    .sign(privateKeyOf(by[0]));
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const wrong: Record<string, () => Promise<string> | string> = {
  'that expired': () => signed({ exp: Math.floor(Date.now() / 1000) - 1 }),
  'without an end': () => signed({ exp: undefined } as unknown as JWTPayload),
  'that is not valid yet': () => signed({ nbf: Math.floor(Date.now() / 1000) + 600 }),
  'of a foreign issuer': () => signed({ iss: 'https://elsewhere.example' }),
  'signed by a foreign key': async () => signed({}, {}, await newSigningKeys()),
  'signed by a foreign key under our kid': async () => signed({}, { kid: keys[0].kid }, await newSigningKeys()),
  'for another resource': () => signed({ aud: 'https://rides.example/other' }),
  'for our origin alone': () => signed({ aud: issuer }),
  'without an audience': () => signed({ aud: undefined } as unknown as JWTPayload),
  'of another scope': () => signed({ scope: 'write' }),
  'without a scope': () => signed({ scope: undefined } as unknown as JWTPayload),
  'that is an id token': () => signed({}, { typ: 'JWT' }),
  'whose algorithm is none': () => `${encoded({ alg: 'none', typ: 'at+jwt' })}.${good.split('.')[1]}.`,
  'whose algorithm is none, with our kid': () =>
    `${encoded({ alg: 'none', typ: 'at+jwt', kid: keys[0].kid })}.${good.split('.')[1]}.${good.split('.')[2]}`,
  'without its signature': () => good.split('.').slice(0, 2).join('.'),
  'with an empty signature': () => `${good.split('.').slice(0, 2).join('.')}.`,
  'with the claims of another': async () => {
    const [header, , signature] = good.split('.');
    return `${header}.${(await signed({ sub: 'bo' })).split('.')[1]}.${signature}`;
  },
  'signed as HS256 with our public key': () => {
    const start = `${encoded({ alg: 'HS256', typ: 'at+jwt', kid: keys[0].kid })}.${good.split('.')[1]}`;
    const pem = publicKeyOf(keys[0]).export({ type: 'spki', format: 'pem' });
    return `${start}.${createHmac('sha256', pem).update(start).digest('base64url')}`;
  },
  'of an erased rider': () => signed({ sub: smallWorld.erasedRider }),
  'of a rider who never was': () => signed({ sub: 'nobody' }),
  'whose subject is no rider id': () => signed({ sub: 'ada/../bo' }),
  'cut off': () => good.slice(0, -1),
  'cut off in the middle': () => good.slice(0, good.length / 2),
  'with a character more': () => `${good}A`,
  'with a space in it': () => good.replace('.', ' .'),
  'that is no token': () => 'x',
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

  it.each([
    ['bearer ', 200],
    ['BEARER ', 200],
    ['bEARER  ', 200],
    ['Bearer   ', 200],
    ['Basic ', 401],
    ['DPoP ', 401],
    ['Token ', 401],
    ['', 401],
    ['Bearer', 401],
    ['Bearer:', 401],
    ['Bearer=', 401],
  ])('sent after %j is %d', async (scheme, status) => {
    const answer = await service.ask('/me/nights', { Authorization: `${scheme}${good}` });
    expect(answer.status).toBe(status);
    if (status === 401) expect(answer.headers['www-authenticate']).not.toContain('error=');
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

  // docs/rules.md#access-tokens
  it('ends at its exp, though it has been seen before', async () => {
    let nowMs = Date.now();
    const timed = await startHttpService({
      checker: createTokenChecker({ issuer, audience, keys, nowMs: () => nowMs }),
    });
    const token = await signSampleToken({ rider: 'ada', keys, issuer, audience, lifetimeSeconds: 60 });
    expect((await timed.ask('/me/nights', withToken(token))).status).toBe(200);
    nowMs += 61_000;
    expect((await timed.ask('/me/nights', withToken(token))).status).toBe(401);
    await timed.close();
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
