import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { type Env, Processes } from '../support/processes/process.ts';
import { portlandDirectory, portlandKeys } from '../support/worlds/portland.ts';

// What a load balancer sees: who is ready, and who is about to end.

const processes = new Processes();
let redis: RedisServer;
let env: Env;
let projectorPorts: number[];

beforeAll(async () => {
  redis = await startRedisServer();
  env = { REDIS_URL: redis.url, NOW: '2015-06-13T19:00:00Z' };
  projectorPorts = await freePorts(2);
  const [PORT, METRICS_PORT] = projectorPorts.map(String) as [string, string];
  const projector = await processes.start('projector', {
    ARCHIVE_DIR: portlandDirectory,
    REDIS_URL: redis.url,
    PORT,
    METRICS_PORT,
  });
  await projector.printed('Ready: ');
});
afterAll(async () => {
  await processes.close();
  await redis.stop();
});

const path = '/api/metros/portland/days/2015-06-13';
const headers = { 'X-Api-Key': portlandKeys.live };

/** A request on a connection of its own. */
function ask(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false, headers, timeout: 5_000 }, (response) => {
      response.on('error', reject).on('end', () => resolve(response));
      response.resume();
    }).on('error', reject);
  });
}

/** Which APIs are ready, asked four times a second, as a load balancer does. */
function followReadyz(ports: readonly number[]) {
  const ready = new Set<number>();
  const stop = new AbortController();
  const follow = async (port: number): Promise<void> => {
    while (!stop.signal.aborted) {
      const response = await ask(`http://127.0.0.1:${port}/readyz`).catch(() => null);
      if (response?.statusCode === 200) ready.add(port);
      else ready.delete(port);
      await sleep(250);
    }
  };
  const following = ports.map(follow);
  const end = () => {
    stop.abort();
    return Promise.all(following);
  };
  return { ready, end };
}

describe('a rolling restart of APIs', () => {
  it('loses no read of clients that open a connection for each, to an API that is ready', async () => {
    const ports = await freePorts(2);
    const start = async (port: number) =>
      (await processes.start('api', { ...env, PORT: String(port), DRAIN_SECONDS: '2' })).ready();
    const apis = await Promise.all(ports.map(start));
    const { ready, end } = followReadyz(ports);
    await expect.poll(() => ready.size, { timeout: 10_000 }).toBe(2);
    const statuses: Record<string, number> = {};
    let over = false;
    let turn = 0;
    const read = async (): Promise<void> => {
      while (!over) {
        const port = [...ready][turn++ % ready.size];
        const status = await ask(`http://127.0.0.1:${port}${path}`).then(({ statusCode }) => statusCode, String);
        statuses[`${status}`] = (statuses[`${status}`] ?? 0) + 1;
        // The APIs that start meanwhile need the core.
        await sleep(25);
      }
    };
    const readers = [read(), read(), read()];
    for (const [i, port] of ports.entries()) {
      expect(await apis[i]!.stop()).toMatchObject({ code: 0 });
      apis[i] = await start(port);
      await expect.poll(() => ready.size, { timeout: 10_000 }).toBe(2);
    }
    over = true;
    await Promise.all(readers);
    await end();
    expect(Object.keys(statuses)).toEqual(['200']);
    expect(statuses[200]).toBeGreaterThan(50);
    for (const api of apis) await api.kill();
  }, 90_000);

  it('an API answers from its first connection on, for a proxy that did not notice that it was gone; told to stop it is unready at once, and its answers are the last of their connections', async () => {
    const api = await processes.start('api', { ...env, DRAIN_SECONDS: '2' });
    const first = async (): Promise<number> => {
      const answer = await ask(`${api.origin}${path}`).catch(() => null);
      return answer?.statusCode ?? first();
    };
    expect(await first()).toBe(200);
    const stopped = api.stop();
    await api.printed('not ready any more');
    const readyz = await fetch(`${api.origin}/readyz`);
    const reason = 'the process was told to stop';
    expect([readyz.status, await readyz.json()]).toEqual([503, { status: 'not ready', reason }]);
    const answer = await fetch(api.origin + path, { headers });
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    expect(await stopped).toMatchObject({ code: 0 });
  });
});

describe('a port for operators', () => {
  it('takes health and metrics of an API and of a projector off the service’s own, and shows of each what is its alone', async () => {
    const ports = await freePorts(2);
    const [PORT, METRICS_PORT] = ports.map(String) as [string, string];
    const api = await processes.start('api', { ...env, PORT, METRICS_PORT });
    const statusOf = (route: string) => (port: number) =>
      ask(`http://127.0.0.1:${port}${route}`).then(
        ({ statusCode }) => statusCode,
        ({ code }) => code as string,
      );
    await expect.poll(() => statusOf('/readyz')(ports[1]!), { timeout: 30_000 }).toBe(200);
    for (const route of ['/healthz', '/readyz', '/metrics'])
      expect(await Promise.all([...ports, ...projectorPorts].map(statusOf(route)))).toEqual([
        ...[404, 200],
        ...['ECONNREFUSED', 200],
      ]);
    await fetch(`${api.origin}/.well-known/oauth-authorization-server`);
    await fetch(`${api.origin}/oauth/token`, { method: 'POST', body: new URLSearchParams({ grant_type: 'nonsense' }) });
    const textOf = async (port: string) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const names = (text: string) => [...text.matchAll(/^# HELP (ride_calendar_\S+)/gm)].map(([, name]) => name);
    const text = await textOf(METRICS_PORT);
    const [ofApi, ofProjector] = [names(text), names(await textOf(String(projectorPorts[1])))];
    const both = ofApi.filter((name) => ofProjector.includes(name));
    expect(both.sort()).toEqual(['ride_calendar_build_info', 'ride_calendar_certificate_expiry_timestamp_seconds']);
    expect(ofApi).toContain('ride_calendar_http_answer_seconds');
    expect(ofProjector).toContain('ride_calendar_unreadable_age_seconds');
    expect(text).toMatch(/http_answer_seconds_count\{operation="\/oauth\/token",status="400"\} 1/);
    expect(text).toMatch(
      /http_answer_seconds_count\{operation="\/.well-known\/oauth-authorization-server",status="200"\} 1/,
    );
    await api.kill();
  });
});
