import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { expect, test } from 'vitest';
import { startRedisServer } from '../../../../infra/local/redis-server.ts';
import { Processes } from '../../../support/processes/process.ts';
import { flowAt, nights } from '../../../support/sign-in/sign-in-flow.ts';

// docs/rules.md#sign-in-state
test('a refresh while Redis restarts waits for it, or is told to come again, and does not lose the grant', async () => {
  await using open = new AsyncDisposableStack();
  const redis = open.adopt(await startRedisServer({ persistence: 'aof' }), (each) => each.stop());
  const service = await open.use(new Processes()).start('start', { AUTH_REDIS_URL: redis.url });
  await service.printed('Ctrl-C');
  const readiness = async () => await (await fetch(`${service.origin}/readyz`)).json();
  const metrics = async () => await (await fetch(`${service.origin}/metrics`)).text();
  const { authorizeUrl, refresh, signedIn } = flowAt(service.origin);
  const rider = (decodeJwt(/Bearer (\S+?)'/.exec(service.out())![1]!) as { sub: string }).sub;
  const { client, tokens: body } = await signedIn(rider);

  await redis.kill();
  const away = await refresh(client, body.refresh_token);
  expect(away).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
  expect(away.headers.get('retry-after')).toBe('5');
  await expect.poll(readiness).toMatchObject({
    status: 'ready',
    note: expect.stringContaining("nobody can sign in or refresh: Sign-in's Redis (AUTH_REDIS_URL) "),
  });
  expect(await metrics()).toMatch(/^ride_calendar_sign_in_store_answers 0$/m);
  expect((await fetch(authorizeUrl(client))).status).toBe(503);
  // Reads of riders go on: their tokens are checked without asking.
  expect((await nights(service.api, body.access_token)).status).toBe(200);

  const waiting = refresh(client, body.refresh_token);
  await redis.start();
  let late = await waiting;
  // As an app does that is told to come again.
  for (let tries = 0; late.status === 503 && tries < 8; tries++) {
    await sleep(1000);
    late = await refresh(client, body.refresh_token);
  }
  expect(late.status).toBe(200);
  expect((await refresh(client, late.body.refresh_token)).status).toBe(200);
  await expect.poll(readiness).toEqual({ status: 'ready' });
  expect(await metrics()).toMatch(/^ride_calendar_sign_in_store_answers 1$/m);
});
