import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { runCli } from '../../services/command-line.ts';
import { heard } from '../support/processes/heard.ts';
import { Processes } from '../support/processes/process.ts';
import { refused, words } from '../support/processes/process-ends.ts';
import { portlandDirectory } from '../support/worlds/portland.ts';

// What can't work is refused in words that name the thing and the fix, without a stack trace or a secret, and with an
// exit code that means something. What may come yet is waited for.

const processes = new Processes();
afterAll(() => processes.close());

// docs/rules.md#picking-a-rider
it('riders can not be picked where others reach the page: made-up data is served for reading alone', async () => {
  const service = await processes.start('start', { HOST: '0.0.0.0' });
  await service.printed('No rider can sign in: SIGN_IN_ISSUER is not set');
  expect(service.out()).not.toContain('Bearer');
  const key = /rck_[\w-]{43}/.exec(service.out())![0];
  const first = /curl .* (http\S+)/.exec(service.out())![1]!;
  expect((await fetch(first, { headers: { 'x-api-key': key } })).status).toBe(200);
  const page = await fetch(`${service.origin}/oauth/authorize?response_type=code&client_id=x`, { redirect: 'manual' });
  expect(page.status).toBeGreaterThanOrEqual(400);
});

it.each([
  ['api', ['REDIS_URL']],
  ['projector', ['REDIS_URL', 'KAFKA_BROKERS']],
])('%s without settings exits 2 naming %j as missing', async (command, missing) => {
  const { code, err } = await heard((io) => runCli([command], io, {}));
  expect([code, err]).toEqual([2, missing.map((name) => expect.stringContaining(`${name} is missing`))]);
});

it('a port in use is named at once, with what to do', async () => {
  const [port] = await freePorts(1);
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  try {
    const ended = await refused(processes, 'start', {
      PORT: String(port),
      ARCHIVE_DIR: portlandDirectory,
      KAFKA_PARTITIONER: 'crc32',
    });
    expect(ended.code).toBe(1);
    // Not even the log's lines: nothing was folded, and no other projector put off.
    expect(ended.err.trim().split('\n')).toHaveLength(1);
    expect(words(ended)[0]).toContain(`Cannot listen on 127.0.0.1:${port}: the port is in use; `);
    expect(words(ended)[0]).toContain('PORT');
  } finally {
    other.close();
  }
});
