import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { ran } from '../support/processes/ran.ts';
import { freshKafka, freshTopicPrefix, kafkaBrokers } from '../support/servers/backends.ts';
import { stallingProxy } from '../support/servers/redis-proxies.ts';

// A server that refuses is named; one that is away is waited for, with a message, and the command still ends when told to.

const example = new URL('../../docs/example-records.jsonl', import.meta.url).pathname;
const headers = { 'X-Api-Key': 'rck_the-example-key-that-everybody-knows-------' };
const well = '{"status":"ready"}';

/** What a command says that ends by itself, and its exit code. */
const tool = async (args: string[], env: Env) =>
  ran(args, { LOG_LEVEL: 'silent', PORT: String(await freePort()), ...env });
const textAt = async ({ origin }: RunningService, path: string) => (await fetch(origin + path)).text();

it('a Redis that is away or refuses the password, and a Kafka that is away, are waited for with a message each, and then the views are filled', async () => {
  await using stack = new AsyncDisposableStack();
  const kafka = freshKafka();
  for (const args of [
    ['topics', '--partitions', '1'],
    ['records', 'publish', example],
  ])
    expect((await tool(args, kafka)).code).toBe(0);
  const line = stack.adopt(await stallingProxy(`redis://127.0.0.1:${await freePort()}`), (each) => each.close());
  const port = await freePort();
  const redis = { REDIS_URL: `redis://:hunter2@127.0.0.1:${port}`, NOW: '2026-11-24T19:00:00Z' };
  const env = { ...kafka, KAFKA_BROKERS: new URL(line.url).host, ...redis };
  const processes = stack.use(new Processes());
  const [projector, api] = await Promise.all([processes.start('projector', env), processes.start('api', env)]);
  const both = [projector, api];
  const saidBy = (running: readonly RunningService[], words: string | RegExp) =>
    Promise.all(running.map((one) => expect.poll(() => textAt(one, '/readyz').catch(String)).toMatch(words)));
  const storeAnswers = async () => /^ride_calendar_store_answers (.*)$/m.exec(await textAt(api, '/metrics'))![1];
  const waits = () =>
    expect
      .poll(() => textAt(projector, '/metrics'))
      .toMatch(/ride_calendar_waiting_seconds\{[^}]*for="redis"[^}]*\} (?!0$)/m);

  await projector.printed('Cannot find out who leads, trying again: Redis cannot be reached');
  await api.printed('Reads get 503: Redis cannot be reached');
  // They say so before they listen.
  for (const { origin } of both) await expect.poll(async () => (await fetch(`${origin}/readyz`)).status).toBe(503);
  expect((await fetch(`${api.origin}/healthz`)).status).toBe(200);
  const away = await fetch(`${api.api}/rides/taco`, { headers });
  expect([away.status, away.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(away.headers.get('content-type')).toBe('application/problem+json');

  const server = await startRedisServer({ port, args: ['--requirepass', 'hunter2-first'] });
  stack.defer(() => server.stop());
  const admin = stack.adopt(new Redis(server.url.replace('//', '//:hunter2-first@')), (each) => each.disconnect());
  const givePassword = (password: string) => admin.config('SET', 'requirepass', password);
  const refused = 'Redis refuses the user and password of REDIS_URL';
  await saidBy(both, refused);
  const listed = await tool(['generations', 'list'], env);
  expect([listed.code, listed.err.join()]).toEqual([1, expect.stringContaining('refuses the user and password')]);
  await waits();
  await givePassword('hunter2');

  await projector.printed(/Cannot read the bounds of the event log: .*; trying again/);
  await saidBy([projector], /since [-:\dT]+Z it has waited for Kafka, which does not answer/);
  expect(await textAt(projector, '/readyz')).not.toMatch(/127\.0\.0\.1|view store/);
  line.retarget(`redis://${kafkaBrokers().split(',')[0]}`);
  for (const one of both) await one.ready();
  await projector.printed('Kafka answers again');
  await api.printed('Reads are answered');
  expect(await textAt(projector, '/readyz')).toBe(well);

  await givePassword('hunter2-other');
  for (const type of ['normal', 'pubsub']) await admin.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  await saidBy(both, refused);
  // A load balancer keeps it, since no other API could read either.
  expect([await textAt(api, '/readyz'), await storeAnswers()]).toEqual([
    expect.stringContaining('"ready","note":"'),
    '0',
  ]);
  await waits();
  await givePassword('hunter2');
  await saidBy(both, /^\{"status":"ready"\}$/);
  expect(await storeAnswers()).toBe('1');
  for (const one of both) {
    const { code, out, err } = await one.stop();
    expect([code, out + err]).toEqual([0, expect.not.stringMatching(/hunter2|Reading the log again/)]);
  }

  // `start` serves complete views while topics are missing, says so, and goes on once they are there.
  const missing = { ...kafka, ...redis, KAFKA_TOPIC_PREFIX: freshTopicPrefix() };
  const service = await processes.start('start', missing);
  await service.printed('trying again in 2 s');
  await expect
    .poll(async () => JSON.parse(await textAt(service, '/readyz')))
    .toEqual({
      status: 'ready',
      note: expect.stringMatching(/^the projector has ended: Cannot read the event log: .*npx ride-calendar topics$/),
    });
  const read = await fetch(`${service.api}/rides/taco`, { headers });
  expect([read.status, await read.json()]).toMatchObject([200, { title: 'Taco Tuesday' }]);
  expect(await textAt(service, '/metrics')).toContain('ride_calendar_projector_ready 0');
  // What does not serve ends.
  const said = expect.stringMatching(`${missing.KAFKA_TOPIC_PREFIX}nights.*npx ride-calendar topics`);
  for (const command of ['projector', 'verify'])
    expect(await tool([command], missing)).toMatchObject({ code: 2, err: [said] });
  expect((await tool(['topics', '--partitions', '1'], missing)).code).toBe(0);
  await service.printed('Ready: the views stand at the ends');
  await saidBy([service], /^\{"status":"ready"\}$/);
  expect((await service.stop()).code).toBe(0);
});
