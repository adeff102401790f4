import { pino } from 'pino';
import { Gauge, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { operatorApp } from '../../../../services/serve/http/operator-routes.ts';
import { type Readiness, untilStopped } from '../../../../services/serve/http/readiness.ts';

// docs/metrics.md
it('/readyz is 200 with what there is to note, or 503 with a reason, /healthz 200 all the while, /metrics text; all of the moment, for pages of any origin', async () => {
  const register = new Registry();
  new Gauge({ name: 'riders', help: 'Some', registers: [register] }).set(3);
  const told = new AbortController();
  const logged: string[] = [];
  const log = pino({ base: null }, { write: (line) => void logged.push(line) });
  let state: Awaited<ReturnType<Readiness>> | null = { ready: false, reason: 'starting' };
  const readiness = async () => state ?? Promise.reject(new Error('a fault'));
  const app = operatorApp(register, untilStopped(readiness, told.signal), log);
  const of = async (url: string) => {
    const { statusCode, headers, body } = await app.inject(url);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' });
    return [statusCode, headers['content-type'], body];
  };
  const json = 'application/json; charset=utf-8';
  expect(await of('/readyz')).toEqual([503, json, '{"status":"not ready","reason":"starting"}']);
  expect(await of('/healthz')).toEqual([200, json, '{"status":"ok"}']);
  const text = '# HELP riders Some\n# TYPE riders gauge\nriders 3\n';
  expect(await of('/metrics')).toEqual([200, register.contentType, text]);
  state = { ready: true };
  expect(await of('/readyz')).toEqual([200, json, '{"status":"ready"}']);
  state = { ready: true, note: 'misplaced' };
  expect(await of('/readyz')).toEqual([200, json, '{"status":"ready","note":"misplaced"}']);
  state = null;
  expect((await app.inject('/readyz')).statusCode).toBe(500);
  expect(logged).toEqual([expect.stringContaining('a fault')]);
  told.abort();
  expect(await of('/readyz')).toEqual([503, json, expect.stringContaining('"reason":"the process was told to stop"')]);
});
