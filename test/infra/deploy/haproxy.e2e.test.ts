import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { corsHeaders } from '../../../api/messages/answer.ts';
import { problems } from '../../../api/messages/refusals.ts';
import { needProgram } from '../../../infra/local/debian-packages.ts';
import { freePorts } from '../../../infra/local/free-port.ts';
import { Processes } from '../../support/processes/process.ts';
import { converse } from '../../support/servers/raw-http.ts';

const processes = new Processes();
const proxies: ChildProcess[] = [];
beforeAll(() => needProgram('haproxy', 'haproxy', 'install HAProxy'), 300_000);
afterAll(async () => {
  for (const each of proxies) each.kill('SIGKILL');
  await processes.close();
});

/** The shipped proxy's port. `api`: a line for the one API, in place of those that compose names. */
async function proxied(api: string | null): Promise<number> {
  const [port] = (await freePorts(1)) as [number];
  let config = await readFile(new URL('../../../infra/deploy/haproxy.cfg', import.meta.url), 'utf8');
  config = config.replace('bind :8080', `bind 127.0.0.1:${port}`).replace('server 5s if read', 'server 200ms if read');
  if (api) config = config.replace(/^ {2}option httpchk.*\n {2}server-template .*$/m, api);
  const file = join(await processes.folder(), 'haproxy.cfg');
  await writeFile(file, config);
  proxies.push(spawn('haproxy', ['-f', file], { stdio: 'ignore' }));
  const answers = async () => (await read(port).catch(() => undefined))?.status;
  await expect.poll(answers, { timeout: 10_000 }).toBeGreaterThan(0);
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

it('the shipped proxy answers by itself as an API that cannot read does, while there is none', async () => {
  const port = await proxied(null);
  const answer = await read(port);
  expect(answer).toMatchObject({ status: 503, headers: failure });
  expect(answer.body).toEqual(problems.unavailable.body);
});

it.each([
  ['does not answer', null, 504],
  ['answers what is no HTTP', 'hello\r\n', 502],
])('the shipped proxy answers with a problem for an API that %s', async (_, says, status) => {
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    if (says) socket.end(says);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const port = await proxied(`  server api 127.0.0.1:${(server.address() as AddressInfo).port}`);
    const answer = await read(port);
    expect(answer).toMatchObject({ status, headers: failure });
    expect(JSON.parse(answer.body.toString())).toMatchObject({ status, title: expect.any(String) });
  } finally {
    server.close();
  }
});
