import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { defaultLifetimes } from '../../../api/oauth/lifetimes.ts';
import { redisAuthState } from '../../../infra/redis/auth-state-redis.ts';
import { freshKeyPrefix, redisUrl } from '../../support/backends.ts';
import { approve, authorizeUrl, redeem, refresh, register } from '../../support/sign-in-flow.ts';
import { startSignInService } from '../../support/sign-in-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../support/test-browser.ts';

test('everything that sign-in keeps in Redis ends by itself, and gives nobody access who reads it', async () => {
  const keyPrefix = freshKeyPrefix();
  const service = await startSignInService({ store: redisAuthState({ url: redisUrl(), keyPrefix }) });
  const { origin } = service;
  const redis = new Redis(redisUrl());
  const seen = new Set<string>();
  const secrets: string[] = [];
  const look = async (): Promise<void> => {
    for (const key of await redis.keys(`${keyPrefix}*`)) {
      const life = await redis.pttl(key);
      // Gone since it was listed.
      if (life === -2) continue;
      expect([key, life > 0 && life <= defaultLifetimes.usedClient * 1000]).toEqual([key, true]);
      const [, kind, entry] = key.slice(keyPrefix.length).split(':');
      seen.add(kind === 'e' ? entry! : kind!);
      const kept = (await redis.type(key)) === 'hash' ? JSON.stringify(await redis.hgetall(key)) : '';
      for (const secret of secrets) expect([key, `${key} ${kept}`.includes(secret)]).toEqual([key, false]);
    }
  };

  const client = await register(origin);
  const [browser, pkce] = [new TestBrowser(origin), newPkce()];
  const first = await browser.open(authorizeUrl(origin, client, pkce));
  await look();
  const form = { do: 'pick', rider: 'rider-ada', csrf: csrfOf(first.page) };
  const asked = await browser.follow(await browser.post(first.url, form));
  await look();
  const allow = { do: 'allow', csrf: csrfOf(await asked.response.text()) };
  const end = await browser.follow(await browser.post(asked.url, allow));
  const code = new URL(end.url).searchParams.get('code')!;
  secrets.push(code);
  await look();
  const { body } = await redeem(origin, client, code, pkce.verifier);
  const second = await refresh(origin, client, body.refresh_token);
  secrets.push(body.refresh_token, second.body.refresh_token, body.access_token);
  await look();
  // A replay, a sign-in of another app, one that is left halfway, and the end of it all.
  await redeem(origin, client, code, pkce.verifier);
  const other = await register(origin);
  await approve(browser, authorizeUrl(origin, other, newPkce()));
  await browser.open(authorizeUrl(origin, client, newPkce()));
  await browser.open(`${origin}/oauth/sign-out`);
  await look();
  await service.signIn.eraseRider('rider-ada');
  await look();
  expect([...seen].sort()).toEqual(
    expect.arrayContaining([
      'AuthorizationCode',
      'Client',
      'Grant',
      'Interaction',
      'RefreshToken',
      'Session',
      'a',
      'c',
    ]),
  );
  redis.disconnect();
  await service.close();
});
