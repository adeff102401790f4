import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { type Env, Processes } from '../support/processes/process.ts';
import { refused, words } from '../support/processes/process-ends.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { copyPortland } from '../support/worlds/portland.ts';

// What can't work is refused in words that name the thing and the fix, without a stack trace or a secret, and with an
// exit code that means something. What may come yet is waited for.

const processes = new Processes();
let folder: string;
let portland: string;
beforeAll(async () => {
  folder = await processes.folder();
  portland = await copyPortland(join(folder, 'portland'));
});
afterAll(() => processes.close());

describe('an archive', () => {
  it.each(['start', 'projector'])(
    'that is not as its manifest says is refused by %s, with exit code 2',
    async (command) => {
      const dir = join(folder, `simulated-${command}`);
      const sizes = ['--riders', '30', '--rides', '5'];
      expect((await processes.run(['simulate', '--archive', dir, ...sizes])).code).toBe(0);
      const file = join(dir, 'ride-calendar.attendance', '2-00000000000000000000.avro');
      await rm(file);
      const ended = await refused(processes, command, { ARCHIVE_DIR: dir, ...views(command) });
      expect(ended.code).toBe(2);
      expect(words(ended)).toEqual([
        expect.stringMatching(`^Cannot read the archive ${dir}: ${file}: it is not there; .*ARCHIVE_DIR: `),
      ]);
    },
  );
});

const views = (command: string): Env =>
  command === 'projector' ? { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() } : {};

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

describe('files that settings name', () => {
  it.each(['start', 'api'])('are read by %s before anything else, and each wrong one is named', async (command) => {
    const [keys, clients] = [join(folder, 'keys.json'), join(folder, 'clients.json')];
    await Promise.all([writeFile(keys, '{"keys":[]}'), writeFile(clients, 'hunter2')]);
    const env = { OAUTH_KEYS: keys, OAUTH_CLIENTS: clients, ARCHIVE_DIR: portland, REDIS_URL: 'redis://127.0.0.1:1' };
    const ended = await refused(processes, command, env);
    expect([ended.code, ended.err.split('\n').length]).toEqual([2, 3]);
    expect(ended.err).toContain(`Cannot read OAUTH_KEYS ${keys}: "keys" is empty`);
    expect(ended.err).toContain(`Cannot read OAUTH_CLIENTS ${clients}: it is not JSON`);
  });
});

it.each([
  ['api', {}, ['REDIS_URL']],
  ['projector', {}, ['REDIS_URL', 'KAFKA_BROKERS']],
])('%s with the settings %j exits 2 naming %j as missing', async (command, env, missing) => {
  const ended = await refused(processes, command, env as Env);
  expect([ended.code, words(ended)]).toEqual([2, missing.map((name) => expect.stringContaining(`${name} is missing`))]);
});

it.each(['start', 'projector'])('a port in use is named by %s at once, with what to do', async (command) => {
  const [port] = await freePorts(1);
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  try {
    const redis = command === 'projector' ? { REDIS_URL: 'redis://127.0.0.1:1' } : {};
    const ended = await refused(processes, command, { PORT: String(port), ARCHIVE_DIR: portland, ...redis });
    expect(ended.code).toBe(1);
    // Not even the log's lines: nothing was folded, and no other projector put off.
    expect(ended.err.trim().split('\n')).toHaveLength(1);
    expect(words(ended)[0]).toContain(`Cannot listen on 127.0.0.1:${port}: the port is in use; `);
    expect(words(ended)[0]).toContain('PORT');
  } finally {
    other.close();
  }
});
