import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RedisServer, startRedisServer } from '../../../../infra/local/redis-server.ts';
import { Processes, type RunningService } from '../../../support/processes/process.ts';
import { authorizeUrl, refresh, signedIn } from '../../../support/sign-in/sign-in-flow.ts';
import { newPkce } from '../../../support/sign-in/test-browser.ts';

let redis: RedisServer;
let service: RunningService;
const processes = new Processes();
beforeAll(async () => {
  redis = await startRedisServer({ persistence: 'aof' });
  service = await processes.start('start', { AUTH_REDIS_URL: redis.url });
  await service.printed('Ctrl-C');
});
afterAll(async () => {
  await service?.stop();
  await processes.close();
  await redis?.stop();
});

const readiness = async () => await (await fetch(`${service.origin}/readyz`)).json();

async function metric(name: string): Promise<string | undefined> {
  const text = await (await fetch(`${service.origin}/metrics`)).text();
  return new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1];
}

// docs/rules.md#sign-in-state
test('a refresh while Redis restarts waits for it, or is told to come again, and does not lose the grant', async () => {
  const { origin } = service;
  const rider = (decodeJwt(/Bearer (\S+?)'/.exec(service.out())![1]!) as { sub: string }).sub;
  const { client, tokens: body } = await signedIn(origin, rider);

  await redis.kill();
  const away = await refresh(origin, client, body.refresh_token);
  expect(away).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
  expect(away.headers.get('retry-after')).toBe('5');
  await expect.poll(readiness).toMatchObject({
    status: 'ready',
    note: expect.stringContaining("nobody can sign in or refresh: Sign-in's Redis (AUTH_REDIS_URL) "),
  });
  expect(await metric('ride_calendar_sign_in_store_answers')).toBe('0');
  expect((await fetch(authorizeUrl(origin, client, newPkce()))).status).toBe(503);
  // Reads of riders go on: their tokens are checked without asking.
  const read = await fetch(`${service.api}/me/nights`, {
    headers: { authorization: `Bearer ${body.access_token}` },
  });
  expect(read.status).toBe(200);

  const waiting = refresh(origin, client, body.refresh_token);
  await redis.start();
  let late = await waiting;
  // As an app does that is told to come again.
  for (let tries = 0; late.status === 503 && tries < 8; tries++) {
    await sleep(1000);
    late = await refresh(origin, client, body.refresh_token);
  }
  expect(late.status).toBe(200);
  expect((await refresh(origin, client, late.body.refresh_token)).status).toBe(200);
  await expect.poll(readiness).toEqual({ status: 'ready' });
  expect(await metric('ride_calendar_sign_in_store_answers')).toBe('1');
});
