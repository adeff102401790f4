import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { startKafkaBroker } from '../../infra/local/kafka-broker.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/backends.ts';
import { copyPortland, portlandKeys } from '../support/portland.ts';
import { type Ended, type Env, Processes } from '../support/process.ts';

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

const secrets = ['hunter2', 'Lantern Yard'];

/** Runs a server to the end that it is refused with. */
async function refused(command: string, env: Env): Promise<Ended> {
  const ended = await (await processes.start(command, env)).ended;
  expect(ended.err).not.toMatch(/^ +at |"stack"/m);
  for (const secret of secrets) expect(ended.out + ended.err).not.toContain(secret);
  return ended;
}

/** The lines for people; the log's own are JSON. */
const words = ({ err }: Ended): string[] =>
  err
    .trim()
    .split('\n')
    .filter((line) => !line.startsWith('{'));

/** A copy of Portland's archive, and a topic's first file (with others after it) or last one. */
async function archiveWith(topic: string, which: 'first' | 'last' = 'first'): Promise<{ dir: string; file: string }> {
  const dir = join(folder, `${topic}-${Math.random().toString(36).slice(2)}`);
  await cp(portland, dir, { recursive: true });
  const place = join(dir, `ride-calendar.${topic}`);
  return { dir, file: join(place, (await readdir(place)).sort().at(which === 'first' ? 0 : -1)!) };
}

describe('an archive', () => {
  it.each([
    [
      'start',
      'an empty folder',
      async () => mkdir(join(folder, 'empty')).then(() => join(folder, 'empty')),
      'holds no folder of a topic',
    ],
    [
      'start',
      'the wrong schema',
      async () => {
        const { dir, file } = await archiveWith('riders');
        await rm(file);
        await cp((await archiveWith('rides')).file, file);
        return dir;
      },
      'its schema is not that of an archive of riders',
    ],
    [
      'projector',
      'a file that is no Avro',
      async () => {
        const { dir, file } = await archiveWith('nights');
        await writeFile(file, 'not Avro at all');
        return dir;
      },
      'it does not begin as an Avro Object Container File',
    ],
    [
      'start',
      'bytes that were changed in mid-block',
      async () => {
        const { dir, file } = await archiveWith('riders');
        const bytes = await readFile(file);
        bytes.fill(0xff, bytes.length >> 1, (bytes.length >> 1) + 40);
        await writeFile(file, bytes);
        return dir;
      },
      /record \d+ of its block can not be read/,
    ],
    [
      'start',
      'a file that is cut off in mid-block, with another after it',
      async () => {
        const { dir, file } = await archiveWith('attendance');
        const bytes = await readFile(file);
        await writeFile(file, bytes.subarray(0, bytes.length - 100));
        return dir;
      },
      'it ends within a block, and another file follows; copy it anew',
    ],
  ])('%s refuses %s, naming the file or the folder', async (command, _, make, why) => {
    const dir = await make();
    const ended = await refused(command, { ARCHIVE_DIR: dir, ...views(command) });
    expect(ended.code).toBe(1);
    expect(words(ended)).toHaveLength(1);
    expect(words(ended)[0]).toContain(dir);
    expect(words(ended)[0]).toMatch(why);
  });

  it.each(['start', 'projector'])(
    'that is not as its manifest says is refused by %s, with exit code 2',
    async (command) => {
      const dir = join(folder, `simulated-${command}`);
      const sizes = ['--riders', '30', '--rides', '5'];
      expect((await processes.run(['simulate', '--archive', dir, ...sizes])).code).toBe(0);
      const file = join(dir, 'ride-calendar.attendance', '2-00000000000000000000.avro');
      await rm(file);
      const ended = await refused(command, { ARCHIVE_DIR: dir, ...views(command) });
      expect(ended.code).toBe(2);
      expect(words(ended)).toEqual([
        expect.stringMatching(`^Cannot read the archive ${dir}: ${file}: it is not there; .*ARCHIVE_DIR: `),
      ]);
    },
  );

  it('that is cut off in mid-block is read up to there, as one that is still written to, and says so', async () => {
    const { dir, file } = await archiveWith('attendance', 'last');
    const bytes = await readFile(file);
    await writeFile(file, bytes.subarray(0, bytes.length - 100));
    const service = await processes.start('start', { ARCHIVE_DIR: dir });
    await service.ready();
    await service.printed(/ends within a block that begins at byte \d+: what is there of it does not count yet/);
    // The rest comes.
    await writeFile(file, bytes);
    await expect.poll(() => attendance(service.origin), { timeout: 15_000 }).toBe(10_831);
  });
});

async function attendance(origin: string): Promise<number> {
  const metrics = await (await fetch(`${origin}/metrics`)).text();
  return Number(/folded_records_total\{topic="attendance"\} (\d+)/.exec(metrics)?.[1]);
}

const views = (command: string): Env =>
  command === 'projector' ? { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() } : {};

// docs/rules.md#picking-a-rider
it('riders can not be picked where others reach the page', async () => {
  const ended = await refused('start', { HOST: '0.0.0.0' });
  expect(ended.code).toBe(2);
  expect(words(ended)[0]).toContain('Cannot use setting HOST: others can reach it');
  expect(words(ended)[0]).toContain('SIGN_IN_ISSUER');
});

// docs/rules.md#picking-a-rider
it('made-up data is served for reading alone where others reach it and start is told to', async () => {
  const service = await processes.start(['start', '--allow-no-sign-in'], { HOST: '0.0.0.0' });
  await service.printed('for reading alone: no rider can sign in');
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
    const ended = await refused(command, env);
    expect([ended.code, ended.err.split('\n').length]).toEqual([2, 3]);
    expect(ended.err).toContain(`Cannot read OAUTH_KEYS ${keys}: "keys" is empty`);
    expect(ended.err).toContain(`Cannot read OAUTH_CLIENTS ${clients}: it is not JSON`);
  });

  it.runIf(process.platform === 'linux')('a data folder that can not be made is named at once', async () => {
    const ended = await refused('start', { DATA_DIR: '/proc/ride-calendar' });
    expect([ended.code, ended.err.split('\n').length]).toEqual([2, 2]);
    expect(ended.err).toContain('Cannot make the folder /proc/ride-calendar: ENOENT at /proc/ride-calendar; DATA_DIR');
  });
});

describe('settings', () => {
  it('that projector lacks are all named', async () => {
    const ended = await refused('projector', {});
    expect(ended.code).toBe(2);
    expect(words(ended)).toEqual([
      expect.stringContaining('REDIS_URL is missing'),
      expect.stringContaining('KAFKA_BROKERS is missing, and ARCHIVE_DIR too'),
    ]);
  });

  it.each(['start', 'api', 'projector'])('that are wrong are all named by %s, with exit code 2', async (command) => {
    const env = {
      NOW: 'tomorrow',
      SHARD: '2/2',
      CACHE_SECONDS: '-1',
      HOST: 'http://x',
      REDIS_URL: 'redis://user:hunter2@',
      KAFKA_SASL_PASSWORD: 'hunter2',
      ARCHIVE_DIR: join(folder, 'nowhere'),
      KAFKA_BROKERS: 'localhost',
    };
    const ended = await refused(command, env);
    expect(ended.code).toBe(2);
    expect(ended.out).toBe('');
    for (const name of Object.keys(env)) {
      expect(words(ended).filter((line) => line.startsWith(`Cannot use setting ${name}: `)).length).toBeGreaterThan(0);
    }
    expect(words(ended).every((line) => /; |, want /.test(line))).toBe(true);
  });

  it.each([
    ['api', {}, 'REDIS_URL'],
    ['projector', { ARCHIVE_DIR: '.' }, 'REDIS_URL'],
    ['projector', { REDIS_URL: 'redis://127.0.0.1:1' }, 'KAFKA_BROKERS'],
  ])('%s with %j exits 2 naming %s', async (command, env, name) => {
    const ended = await refused(command, env as Env);
    expect([ended.code, words(ended).length]).toEqual([2, 1]);
    expect(words(ended)[0]).toContain(`${name} is missing`);
  });
});

it.each(['start', 'projector'])('a port in use is named by %s at once, with what to do', async (command) => {
  const [port] = await freePorts(1);
  const other = createServer().listen(port, '127.0.0.1');
  await once(other, 'listening');
  try {
    const redis = command === 'projector' ? { REDIS_URL: 'redis://127.0.0.1:1' } : {};
    const ended = await refused(command, { PORT: String(port), ARCHIVE_DIR: portland, ...redis });
    expect(ended.code).toBe(1);
    // Not even the log's lines: nothing was folded, and no other projector put off.
    expect(ended.err.trim().split('\n')).toHaveLength(1);
    expect(words(ended)[0]).toContain(`Cannot listen on 127.0.0.1:${port}: the port is in use; `);
    expect(words(ended)[0]).toContain('PORT');
  } finally {
    other.close();
  }
});

describe('topics that do not exist', () => {
  it.each(['start', 'projector'])('end %s, which says how to make them', async (command) => {
    const prefix = freshTopicPrefix();
    const ended = await refused(command, {
      KAFKA_BROKERS: kafkaBrokers(),
      KAFKA_TOPIC_PREFIX: prefix,
      REDIS_URL: redisUrl(),
      REDIS_KEY_PREFIX: freshKeyPrefix(),
    });
    expect(ended.code).toBe(1);
    expect(words(ended)).toHaveLength(1);
    expect(words(ended)[0]).toContain(`${prefix}nights`);
    expect(words(ended)[0]).toContain('npx ride-calendar topics');
  });
});

describe('start beside complete views', () => {
  it('serves them while topics are missing, says so, and goes on once they are there', async () => {
    const views = { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix(), NOW: '2015-06-13T19:00:00Z' };
    const before = await processes.start('start', { ...views, ARCHIVE_DIR: portland });
    await before.ready();
    await before.stop();
    const env = { ...views, KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: freshTopicPrefix() };
    const service = await processes.start('start', env);
    await service.printed('trying again in 2 s');
    const readiness = async (): Promise<unknown> => (await fetch(`${service.origin}/readyz`)).json();
    expect(await readiness()).toEqual({
      status: 'ready',
      note: expect.stringMatching(/^the projector has ended: Cannot read the event log: .*npx ride-calendar topics$/),
    });
    const read = () => fetch(`${service.api}/rides/pp15r4935`, { headers: { 'X-Api-Key': portlandKeys.live } });
    expect((await read()).status).toBe(200);
    expect(await (await fetch(`${service.origin}/metrics`)).text()).toContain('ride_calendar_projector_ready 0');
    expect((await processes.run(['topics', '--partitions', '4'], env)).code).toBe(0);
    await service.printed('Ready: the views stand at the ends', 60_000);
    await expect.poll(readiness).toEqual({ status: 'ready' });
    expect((await service.stop()).code).toBe(0);
  }, 120_000);
});

describe('Redis', () => {
  it('that refuses the password is no matter of waiting', async () => {
    const server = await startRedisServer({ args: ['--requirepass', 'hunter2'] });
    try {
      const wrong = server.url.replace('//', '//:hunter2-not@');
      for (const url of [server.url, wrong]) {
        const ended = await refused('projector', { ARCHIVE_DIR: portland, REDIS_URL: url });
        expect(ended.code).toBe(1);
        expect(words(ended)).toHaveLength(1);
        expect(words(ended)[0]).toContain('it refuses the user and password of REDIS_URL');
      }
      const right = await processes.start('start', {
        ARCHIVE_DIR: portland,
        REDIS_URL: server.url.replace('//', '//:hunter2@'),
      });
      await right.ready();
      const { out, err } = await right.stop();
      expect(out + err).not.toContain('hunter2');
    } finally {
      await server.stop();
    }
  });

  it('that is no cluster, or is one, is said to be', async () => {
    const env = { ARCHIVE_DIR: portland, REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
    const ended = await refused('projector', { ...env, REDIS_CLUSTER: 'true' });
    expect(ended.code).toBe(1);
    expect(words(ended)[0]).toContain('it is not a Redis Cluster; leave REDIS_CLUSTER out');
  });
});

describe('servers that are away at start', () => {
  it('are waited for, with a message each, and then the views are filled', async () => {
    const [broker, server] = await Promise.all([startKafkaBroker(), startRedisServer()]);
    try {
      const env = { KAFKA_BROKERS: broker.brokers, REDIS_URL: server.url };
      expect((await processes.run(['topics', '--partitions', '4'], env)).code).toBe(0);
      expect((await processes.run(['archive', 'load', portland], env)).code).toBe(0);
      await Promise.all([broker.kill(), server.kill()]);
      const [projector, api] = await Promise.all([processes.start('projector', env), processes.start('api', env)]);
      await projector.printed('Cannot look who leads, trying again: Redis cannot be reached');
      await api.printed('Not ready: Redis cannot be reached');
      const status = (url: string) => fetch(url).then((response) => response.status, String);
      await expect.poll(() => status(`${projector.origin}/readyz`), { timeout: 10_000 }).toBe(503);
      await expect.poll(() => status(`${api.origin}/readyz`), { timeout: 10_000 }).toBe(503);
      expect(await status(`${api.origin}/healthz`)).toBe(200);
      const away = await fetch(`${api.api}/rides/pp15r4125`, { headers: { 'X-Api-Key': 'x' } });
      expect([away.status, away.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      expect(away.headers.get('content-type')).toBe('application/problem+json');
      await server.start();
      await projector.printed(/Cannot read the bounds of the event log: .*; trying again/);
      await broker.start();
      await Promise.all([projector.ready(), api.ready()]);
      await projector.printed('Kafka answers again');
      await api.printed('Ready: reads are answered');
      const client = new Redis(server.url);
      expect(await client.dbsize()).toBeGreaterThan(1_000);
      client.disconnect();
      for (const { code } of [await projector.stop(), await api.stop()]) expect(code).toBe(0);
    } finally {
      await Promise.all([broker.stop(), server.stop()]);
    }
  }, 120_000);

  it.each([
    ['projector', { KAFKA_BROKERS: '127.0.0.1:1' }, 'Cannot read the bounds of the event log'],
    ['projector', { KAFKA_BROKERS: '127.0.0.1:1', REDIS_URL: 'redis://127.0.0.1:1' }, 'Cannot look who leads'],
    ['start', { KAFKA_BROKERS: '127.0.0.1:1' }, 'Cannot read the bounds of the event log'],
  ])('%s with %j ends on SIGTERM all the same', async (command, env, message) => {
    const prefix = { REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: freshKeyPrefix() };
    const service = await processes.start(command, { ...prefix, ...(env as Env) });
    await service.printed(message);
    expect((await service.stop()).code).toBe(0);
  });
});
