import { Redis } from 'ioredis';
import { beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { redisKeys } from '../../../infra/redis/redis-keys.ts';
import { encodeValue } from '../../../schemas/avro/codec.ts';
import { viewFormat } from '../../../schemas/views/view-keys.ts';
import { rideKey } from '../../../schemas/views/view-kinds.ts';
import { openKafkaPublisher } from '../../../services/backends/open-kafka.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { metro, ride } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { type Env, Processes } from '../../support/processes/process.ts';
import { said } from '../../support/processes/ran.ts';
import { testStack } from '../../support/processes/test-stack.ts';
import { freshKafka, freshRedis, freshTopicPrefix, redisUrl } from '../../support/servers/backends.ts';
import { beating } from '../../support/stores/beating.ts';

const open = testStack();
const processes = open.use(new Processes());
const env: Env = { ...freshKafka(), ...freshRedis(), LOG_LEVEL: 'warn' };

const run = (args: readonly string[], more: Env = {}) => said(args, { ...env, ...more });
const json = async (...args: string[]) => {
  const { code, out } = await run([...args, '--json']);
  return { code, ...JSON.parse(out) };
};
const lag = () => json('lag');
const until = (place: string, timeout = 60) => ['lag', '--until', place, '--timeout', `${timeout}`];

beforeAll(async () => {
  expect(await run(['topics', '--partitions', '1'])).toMatchObject({ code: 0 });
  const sizes = ['--riders', '50', '--rides', '20', '--rate', '0', '--count', '100'];
  expect(await run(['simulate', ...sizes])).toMatchObject({ code: 0 });
});
const { signal } = new AbortController();
const publisher = openKafkaPublisher(loadSettings(env).kafka!, { log: silentLog, signal });
open.defer(() => publisher.close());
const redis = open.adopt(new Redis(redisUrl()), (each) => each.disconnect());

/** Its place. */
async function publish({ topic, key, value }: LoggedRecord): Promise<string> {
  const bytes = value && encodeValue(topic, value);
  const record = { partition: 0, key: Buffer.from(key), value: bytes, timestampMs: Date.now(), headers: [] };
  const [place] = await publisher.publish(topic, [record]);
  return `${topic}/${place![0]}@${place![1]}`;
}

it('lag says what no projector has read, what is written, and who leads; --until ends once a record is readable, with what is bad of it, or after its timeout, and metric, why and API agree', async () => {
  await publish(metro('pdx'));
  const early = await publish(ride('loop'));
  const before = await lag();
  expect(before).toMatchObject({ code: 1, leaders: [], parts_unled: 64 });
  expect(before.lag).toBeGreaterThan(100);
  // Nobody knows when they arrived.
  expect(before.oldest_unreadable_age).toBeNull();
  expect(before.partitions).toContainEqual(expect.objectContaining({ topic: 'metros', partition: 0, position: null }));
  expect((await run(until(early, 1))).out).toContain('no projector says up to where');
  const why = () => json('why', 'rides/loop');
  const answers = [{ shown: false, reasons: [{ reason: 'not readable yet', rule: 'docs/rules.md#readable' }] }, {}];
  expect(await why()).toMatchObject({ code: 1, record: { place: early }, answers });

  const projector = await (await processes.start('projector', env)).ready();
  expect(await run(until(early))).toMatchObject({ code: 0, out: `${early} is readable` });
  expect(await json(...until(early))).toMatchObject({ place: early, readable: true, rejected: null });
  expect(await why()).toMatchObject({ code: 0, answers: [{ answer: '/rides/loop', shown: true, reasons: [] }, {}] });
  await expect.poll(async () => (await lag()).lag).toBe(0);
  const now = await lag();
  expect(now).toMatchObject({ code: 0, oldest_unreadable_age: null, parts_unled: 0 });
  expect(now.leaders).toEqual([expect.objectContaining({ parts: 64, alive: true })]);
  const { out: text } = await run(['lag']);
  expect(text).toContain('Every change is readable');
  expect(text).toMatch(/^metros\/0 +\d+ +\d+ +0$/m);

  const bad = await publish(ride('loop', { url: 'ftp://x' }));
  const fault = 'url does not match its pattern: field url';
  const reason = expect.stringContaining(fault);
  const out = expect.stringContaining(`${bad} was rejected, and shows nowhere: ${fault}`);
  expect(await run(until(bad))).toMatchObject({ code: 3, out });
  expect(await json(...until(bad))).toMatchObject({ code: 3, rejected: reason });
  expect(await why()).toMatchObject({ code: 1, record: { place: early }, rejected: [{ place: bad, reason }] });
  const end = Number(bad.split('@')[1]) + 1;
  const beyond = await run(until(`rides/0@${end}`, 1));
  expect(beyond).toMatchObject({ code: 1, out: expect.stringContaining(`rides/0 ends at ${end}`) });
  for (const place of ['rides', 'rides/7@0', 'songs/0@1'])
    expect(await run(until(place))).toMatchObject({ code: 2, err: expect.stringContaining('--until') });
  // Once it is said to be readable, whoever asks the store finds it.
  const keys = redisKeys(env.REDIS_KEY_PREFIX!);
  for (let version = 0; version < 4; version++) {
    const place = await publish(ride('loop', { title: `Version ${version}` }));
    expect(await run(until(place))).toMatchObject({ code: 0 });
    expect(await redis.get(keys.toRedis(rideKey('loop')))).toContain(`Version ${version}`);
    const metrics = await (await fetch(`${projector.origin}/metrics`)).text();
    const readable = /partition_readable_offset\{topic="rides",partition="0"\} (\d+)/.exec(metrics);
    expect(Number(readable![1])).toBeGreaterThan(Number(place.split('@')[1]));
  }
  await projector.kill();
});

it('lag says of a leader that is gone, of other formats, and that the views are of another log, as a projector does', async () => {
  await using _ = beating((n) => redis.set(`${env.REDIS_KEY_PREFIX}g98:pub:{v0}:fence`, `1:${n}:someone:led`));
  const after = await lag();
  expect(after).toMatchObject({ code: 1, lag: 0, parts_unled: 64, other_generations: [98] });
  expect(after.leaders).toEqual([expect.objectContaining({ parts: 64, alive: false })]);
  const text = (await run(['lag'])).out;
  expect(text).toContain(`No running projector leads 64 of 64 parts of generation ${viewFormat}`);
  expect(text).toContain('If projectors run, Redis takes no writes');
  expect(text).toContain('A projector leads generation 98');

  const other = { KAFKA_TOPIC_PREFIX: freshTopicPrefix() };
  expect(await run(['topics'], other)).toMatchObject({ code: 0 });
  const err = expect.stringContaining('the views are of another log');
  expect(await run(['lag'], other)).toEqual({ code: 1, out: '', err });
  const beside = await processes.start('projector', { ...env, ...other });
  const readiness = async () => await (await fetch(`${beside.origin}/readyz`)).json();
  const reason = expect.stringContaining('the views in the store are of another log');
  await expect.poll(readiness).toEqual({ status: 'not ready', reason });
});

it('lag says what is missing, and that Redis is away, and ends', async () => {
  expect(await run(['lag'], { REDIS_URL: '' })).toMatchObject({ code: 2 });
  // The reason is said once.
  const err = 'Cannot read who leads from Redis: connect ECONNREFUSED 127.0.0.1:1';
  expect(await run(['lag'], { REDIS_URL: 'redis://127.0.0.1:1' })).toEqual({ code: 1, out: '', err });
});

it('lag --until waits for a minute, unless told otherwise', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const away = { KAFKA_BROKERS: '127.0.0.1:1', LOG_LEVEL: 'silent' };
  const running = run(['lag', '--until', 'nights/0@0'], away);
  while (vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
  await vi.advanceTimersByTimeAsync(60_000);
  const out = 'nights/0@0 is not known to be readable after 60 s: Kafka or Redis has not answered';
  expect(await running).toEqual({ code: 1, out, err: '' });
});

it('commands that read end half a minute after Kafka began to fail them, and say so', async () => {
  const all = [['lag'], ['why', 'rides/loop'], ['verify'], ['records', 'print'], ['rejected', 'list']];
  const away = { KAFKA_BROKERS: '127.0.0.1:1', LOG_LEVEL: 'silent' };
  const ended = await Promise.all(all.map((args) => run(args, away)));
  const err = expect.stringMatching(/^Cannot .*ECONNREFUSED 127\.0\.0\.1:1; given up after Kafka failed for 30 s/);
  expect(ended).toEqual(all.map(() => ({ code: 1, out: '', err })));
});
