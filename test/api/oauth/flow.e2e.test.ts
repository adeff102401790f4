import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { memoryAuthState } from '../../../infra/memory/auth-state-memory.ts';
import { redisAuthState } from '../../../infra/redis/auth-state-redis.ts';
import { freshKeyPrefix, redisUrl } from '../../support/backends.ts';
import { nights, refresh, signedIn } from '../../support/sign-in-flow.ts';
import { startSignInService, type TestService } from '../../support/sign-in-service.ts';

// docs/rules.md#code-flow
describe.each([
  ['memory', () => memoryAuthState()],
  ['Redis', () => redisAuthState({ url: redisUrl(), keyPrefix: freshKeyPrefix() })],
])('signing in with state in %s', (_, makeStore) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startSignInService({ store: makeStore() });
  });
  afterAll(async () => {
    await service.close();
  });

  test('gives a token for the resource, in the shape of RFC 9068, that the resource accepts', async () => {
    const { client, tokens } = await signedIn(service.origin);
    expect(tokens).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 600,
      scope: 'read',
    });
    expect(decodeProtectedHeader(tokens.access_token)).toEqual({
      alg: 'ES256',
      typ: 'at+jwt',
      kid: service.keys[0].kid,
    });
    const claims = decodeJwt(tokens.access_token);
    expect(claims).toEqual({
      iss: service.origin,
      aud: service.baseUrl,
      sub: 'rider-ada',
      client_id: client.client_id,
      scope: 'read',
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: expect.any(Number),
    });
    expect(claims.exp! - claims.iat!).toBe(600);
    expect(await nights(service.baseUrl, tokens.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
  });

  test('is refreshed by a new refresh token each time', async () => {
    const { client, tokens } = await signedIn(service.origin);
    const second = await refresh(service.origin, client, tokens.refresh_token);
    expect(second.status).toBe(200);
    expect(second.body.refresh_token).not.toBe(tokens.refresh_token);
    const third = await refresh(service.origin, client, second.body.refresh_token);
    expect(await nights(service.baseUrl, third.body.access_token)).toEqual({ status: 200, rider: 'rider-ada' });
  });
});
