import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../../../infra/local/free-port.ts';
import { type RedisServer, startRedisServer } from '../../../infra/local/redis-server.ts';
import { freshKeyPrefix, redisUrl } from '../../support/backends.ts';
import { type RideManagement, startRideManagement } from '../../support/ride-management.ts';
import { authorizeUrl, redeem, refresh, register } from '../../support/sign-in-flow.ts';
import { type StartedService, startService } from '../../support/started-service.ts';
import { csrfOf, newPkce, TestBrowser } from '../../support/test-browser.ts';

let redis: RedisServer;
let upstream: RideManagement;
let service: StartedService;
let settings: Record<string, string>;

beforeAll(async () => {
  const [port] = await freePorts(1);
  redis = await startRedisServer({ persistence: 'aof' });
  upstream = await startRideManagement({ redirectUri: `http://127.0.0.1:${port}/oauth/sign-in-callback` });
  settings = {
    PORT: String(port),
    DATA_DIR: await mkdtemp(join(tmpdir(), 'restarts-')),
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
    AUTH_REDIS_URL: redis.url,
    SIGN_IN_ISSUER: upstream.issuer,
    SIGN_IN_CLIENT_ID: upstream.clientId,
    SIGN_IN_CLIENT_SECRET: upstream.clientSecret,
    OAUTH_REGISTRATION: 'on',
  };
  service = await startService(settings);
});
afterAll(async () => {
  await service?.stop();
  await upstream?.stop();
  await redis?.stop();
  await rm(settings.DATA_DIR!, { recursive: true, force: true });
});

/** As a crash of the store and a deployment of the service at once. */
async function restartAll(): Promise<void> {
  await service.stop();
  await redis.kill();
  await redis.start();
  service = await startService(settings);
  // A machine at its limit may not have Redis answer in time at first: an app would be told to come again.
  await expect.poll(askForNobody, { timeout: 30_000 }).toBe(401);
}

/** The status for a client that nobody has registered: 401 once the store of sign-in answers. */
async function askForNobody(): Promise<number> {
  const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: 'nobody' });
  return (await fetch(`${service.origin}/oauth/token`, { method: 'POST', body })).status;
}

const readiness = async () => await (await fetch(`${service.origin}/readyz`)).json();

async function metric(name: string): Promise<string | undefined> {
  const text = await (await fetch(`${service.origin}/metrics`)).text();
  return new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1];
}

/** A rider of the sample: the embedded default prints a token for one. */
async function sampleRider(): Promise<string> {
  const embedded = await startService();
  const token = /Bearer (\S+?)'/.exec(embedded.output)![1]!;
  await embedded.stop();
  return (JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { sub: string }).sub;
}

// docs/rules.md#sign-in-state
test('service and Redis restart between each step of signing in, and nothing is lost', {
  timeout: 300_000,
}, async () => {
  const { origin, baseUrl } = service;
  const rider = await sampleRider();
  const browser = new TestBrowser(origin);
  const client = await register(origin);
  await restartAll();
  const pkce = newPkce();
  const first = await browser.open(authorizeUrl(origin, client, pkce));
  await restartAll();
  const sent = await browser.get(/href="([^"]+\/start)"/.exec(first.page)![1]!);
  await restartAll();
  const back = await upstream.signIn(sent.headers.get('location')!, rider);
  const resumed = await browser.get(back);
  await restartAll();
  const consent = await browser.follow(resumed);
  const page = await consent.response.text();
  expect(page).toContain('will be able to see');
  await restartAll();
  const allowed = await browser.post(consent.url, { do: 'allow', csrf: csrfOf(page) });
  await restartAll();
  const end = new URL((await browser.follow(allowed)).url);
  await restartAll();
  const { status, body } = await redeem(origin, client, end.searchParams.get('code')!, pkce.verifier);
  expect(status).toBe(200);
  await restartAll();
  const read = await fetch(`${baseUrl}/me/nights`, { headers: { authorization: `Bearer ${body.access_token}` } });
  expect(read.status).toBe(200);
  const second = await refresh(origin, client, body.refresh_token);
  expect(second.status).toBe(200);
  await restartAll();
  const apps = await browser.open(`${origin}/oauth/connected-apps`);
  expect(apps.page).toContain('Disconnect Test app');
  expect((await refresh(origin, client, second.body.refresh_token)).status).toBe(200);
});

test('a refresh while Redis restarts waits for it, or is told to come again, and does not lose the grant', async () => {
  const { origin } = service;
  const client = await register(origin);
  const rider = await sampleRider();
  const browser = new TestBrowser(origin);
  const pkce = newPkce();
  const first = await browser.open(authorizeUrl(origin, client, pkce));
  const sent = await browser.get(/href="([^"]+\/start)"/.exec(first.page)![1]!);
  const consent = await browser.follow(await browser.get(await upstream.signIn(sent.headers.get('location')!, rider)));
  const page = await consent.response.text();
  const allowed = await browser.follow(await browser.post(consent.url, { do: 'allow', csrf: csrfOf(page) }));
  const { body } = await redeem(origin, client, new URL(allowed.url).searchParams.get('code')!, pkce.verifier);

  await redis.kill();
  const away = await refresh(origin, client, body.refresh_token);
  expect(away).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
  expect(away.headers.get('retry-after')).toBe('5');
  await expect.poll(readiness, { timeout: 30_000 }).toMatchObject({
    status: 'ready',
    note: expect.stringContaining("nobody can sign in or refresh: Sign-in's Redis (AUTH_REDIS_URL) "),
  });
  expect(await metric('ride_calendar_sign_in_store_answers')).toBe('0');
  const authorizing = await browser.open(authorizeUrl(origin, client, newPkce()));
  expect(authorizing.response.status).toBe(503);
  // Reads of riders go on: their tokens are checked without asking.
  const read = await fetch(`${service.baseUrl}/me/nights`, {
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
  await expect.poll(readiness, { timeout: 30_000 }).toEqual({ status: 'ready' });
  expect(await metric('ride_calendar_sign_in_store_answers')).toBe('1');
});
