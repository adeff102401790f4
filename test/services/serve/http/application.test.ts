import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { signSampleToken } from '../../../../api/sign-in/tokens/sample-token.ts';
import { freePort } from '../../../../infra/local/free-port.ts';
import { factsViewReader } from '../../../../services/past/answers/facts-view-reader.ts';
import { application } from '../../../../services/serve/http/application.ts';
import { ownKey, withKey } from '../../../../services/serve/http/own-key.ts';
import { apiMetrics } from '../../../../services/serve/metrics/api-metrics.ts';
import { loadSettings } from '../../../../services/settings/settings.ts';
import { filesOfThisProcess } from '../../../../services/settings/sign-in-files.ts';
import { evening, liveKey, metro, night, ride, rider } from '../../../reference/example-log.ts';
import { foldOf } from '../../../support/stores/rendered-views.ts';

it('what is served is as the settings say: its clock, caching, tokens, proxies and ways to register; faults are logged, answers and reads measured, and a process that is told to stop ends connections', async () => {
  const PORT = String(await freePort());
  const off = { OAUTH_REGISTRATION: 'off', OAUTH_CLIENT_METADATA: 'off' };
  const settings = loadSettings({ PORT, CACHE_SECONDS: '60', NOW: evening, TRUST_PROXY: '127.0.0.1', ...off });
  const { facts } = foldOf([
    ...[metro('pdx'), ride('loop'), night('loop', '2015-06-12'), rider('ada')],
    liveKey('of the log'),
  ]);
  let isBroken = false;
  const own = ownKey();
  expect(own).toMatch(/^rck_[\w-]{43}$/);
  const views = withKey(factsViewReader(facts), own);
  const get: typeof views.get = (keys) => (isBroken ? Promise.reject(new Error('a fault')) : views.get(keys));
  const [told, closing] = [new AbortController(), new AbortController()];
  const lines: string[] = [];
  const register = new Registry();
  const files = await filesOfThisProcess();
  const memory = async () => ({ usedBytes: 7, limitBytes: 9 });
  const reader = { ...views, get, memory, unledTags: () => 5 };
  const page = { baseUrl: settings.baseUrl, key: own, metros: [], clientId: null, now: null };
  const shows = { sampleKey: own, sample: { metro: 'pdx', ride: 'loop', day: '2015-06-12' }, calendarPage: () => page };
  const options = { settings, reader, metrics: apiMetrics(register), files, signal: told.signal, ...shows };
  const log = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
  const { app, close } = await application({ ...options, log }, closing.signal);
  app.get('/address', (request) => ({ ip: request.ip }));
  await app.listen({ host: settings.host, port: settings.port });
  const { port } = app.server.address() as AddressInfo;
  const at = (path: string, headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers });
  const day = (key: string) => at('/api/metros/pdx/days/2015-06-12', { 'X-Api-Key': key });
  for (const key of [own, 'of the log']) expect((await day(key)).status).toBe(200);
  expect((await day('other')).status).toBe(401);
  const answer = await day(own);
  expect(answer.headers.get('cache-control')).toMatch(/max-age=60\b/);
  expect(await answer.json()).toMatchObject({ nights: [{ past: true }] });

  const { origin, baseUrl } = settings;
  const tokenFor = (audience: string) =>
    signSampleToken({ rider: 'ada', keys: files.keys, issuer: origin, audience, lifetimeSeconds: 60 });
  const mine = async (audience: string) =>
    (await at('/api/me/nights', { Authorization: `Bearer ${await tokenFor(audience)}` })).status;
  expect([await mine(baseUrl), await mine(origin)]).toEqual([200, 401]);
  const proxied = { 'X-Forwarded-For': '192.0.2.7' };
  expect(await (await at('/address', proxied)).json()).toEqual({ ip: '192.0.2.7' });
  const server = (await (await at('/.well-known/oauth-authorization-server')).json()) as Record<string, unknown>;
  expect(server).toMatchObject({ issuer: origin });
  expect(server).not.toHaveProperty('registration_endpoint');
  expect(server.client_id_metadata_document_supported ?? false).toBe(false);

  const docs = await (await at('/docs')).text();
  for (const [name, value] of Object.entries({ key: own, ...shows.sample }))
    expect(docs).toContain(`data-${name}="${value}"`);
  const home = await fetch(`http://127.0.0.1:${port}/`, { redirect: 'manual' });
  expect(home.headers.get('location')).toMatch(/calendar$/);
  expect(await (await at('/calendar/config.json')).json()).toEqual(page);

  isBroken = true;
  expect((await at('/api/rides/other', { 'X-Api-Key': own })).status).toBe(500);
  expect(lines).toEqual([expect.stringMatching(/a fault.*Cannot answer a request/)]);
  isBroken = false;
  const shown = await register.metrics();
  const ofStore = ['store_answers 1', 'store_parts_unled 5', 'redis_memory_used_bytes{store="views"} 7'];
  for (const series of ['http_answer_seconds_count{operation="getDay",status="200"} 3', ...ofStore])
    expect(shown).toContain(`ride_calendar_${series}\n`);
  expect(shown).toMatch(/store_read_seconds_count\{operation="\w+"\} [1-9]/);
  expect(shown).toMatch(/cache_reads_total\{result="miss"\} [1-9]/);

  expect((await day(own)).headers.get('connection')).not.toBe('close');
  told.abort();
  expect((await day(own)).headers.get('connection')).toBe('close');
  closing.abort();
  await app.close();
  await close();
});
