import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { corsHeaders } from '../../../api/messages/answer.ts';
import { problems } from '../../../api/messages/refusals.ts';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { freePorts } from '../../../infra/local/free-port.ts';
import { Processes } from '../../support/processes/process.ts';
import { testStack } from '../../support/processes/test-stack.ts';
import { listening } from '../../support/servers/listening.ts';
import { converse } from '../../support/servers/raw-http.ts';

const open = testStack();
const processes = open.use(new Processes());
const proxies: { process: ChildProcess; output: string }[] = [];
beforeAll(() => needProgram('haproxy', 'haproxy', 'install HAProxy'), 300_000);
open.defer(() => {
  for (const each of proxies) each.process.kill('SIGKILL');
});

/** The shipped proxy's port. `api`: the ports of the one API and of its checks, in place of those that compose names. */
async function proxied(api: { port: number; checks: number } | null): Promise<number> {
  const [port] = (await freePorts(1)) as [number];
  let config = await readFile(new URL('../../../infra/deploy/haproxy.cfg', import.meta.url), 'utf8');
  config = config.replace('bind :8080', `bind 127.0.0.1:${port}`).replace('server 5s if read', 'server 200ms if read');
  if (api)
    config = config.replaceAll(
      /^ {2}server-template (\w+) 10 api:8080 (.*) port 9090 (.*) resolvers .*$/gm,
      `  server $1 127.0.0.1:${api.port} $2 port ${api.checks} $3`,
    );
  const file = join(await processes.folder(), 'haproxy.cfg');
  await writeFile(file, config);
  const proxy = { process: spawn('haproxy', ['-f', file], { stdio: ['ignore', 'pipe', 'ignore'] }), output: '' };
  proxy.process.stdout.on('data', (text) => (proxy.output += text));
  proxies.push(proxy);
  const answers = async () => (await read(port).catch(() => undefined))?.status;
  await expect.poll(answers).toBeGreaterThan(0);
  return port;
}

const request = 'GET /api/metros/portland/days/2015-06-13 HTTP/1.1\r\nHost: a\r\n\r\n';
const read = async (port: number) => (await converse(port, request)).answers.at(-1)!;
const failure = {
  'retry-after': '1',
  'content-type': 'application/problem+json',
  'cache-control': 'no-store',
  ...Object.fromEntries(Object.entries(corsHeaders).map(([name, value]) => [name.toLowerCase(), value])),
};

/** A server on a port of its own. */
const serving = (answer: (socket: Socket) => void) =>
  listening(createServer((socket) => answer(socket.on('error', () => {}).resume())));
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
const notReady = ok.replace('200 OK', '503 Service Unavailable');

it('the shipped proxy answers with a problem, as an API that cannot read does, while there is none, or one that is no use', async () => {
  using silent = await serving(() => {});
  using garbled = await serving((socket) => socket.end('hello\r\n'));
  using checks = await serving((socket) => socket.end(ok));
  for (const [status, api] of [
    [503, null],
    [504, silent],
    [502, garbled],
  ] as const) {
    const answer = await read(await proxied(api && { port: api.port, checks: checks.port }));
    expect(answer).toMatchObject({ status, headers: failure });
    expect(JSON.parse(answer.body.toString())).toMatchObject({ status, title: expect.any(String) });
    if (!api) expect(answer.body).toEqual(problems.unavailable.body);
  }
});

it('the shipped proxy asks an API whose checks are slow while there is no other, and never one that is not ready', async () => {
  let check = { says: ok, delayMs: 1_500 };
  using api = await serving((socket) => socket.end(ok));
  using checks = await serving((socket) => {
    const { says, delayMs } = check;
    setTimeout(() => socket.end(says), delayMs);
  });
  const port = await proxied({ port: api.port, checks: checks.port });
  const logged = (text: string) => expect.poll(() => proxies.at(-1)!.output).toContain(text);
  await logged('Server apis/api is DOWN');
  expect((await read(port)).status).toBe(200);
  check = { says: notReady, delayMs: 0 };
  await logged('Server apis/slow is DOWN');
  expect((await read(port)).status).toBe(503);
});
