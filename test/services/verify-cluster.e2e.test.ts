import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { redisViewWriter } from '../../infra/redis/redis-view-writer.ts';
import { silentLog } from '../../projector/ports/log.ts';
import { viewFormat } from '../../schemas/views/view-keys.ts';
import { runCli } from '../../services/command-line.ts';
import { loadSettings } from '../../services/settings/settings.ts';
import { openKafkaLog } from '../../services/wiring/backends/kafka.ts';
import { freshKeyPrefix, freshTopicPrefix, kafkaBrokers } from '../support/backends.ts';
import { heard } from '../support/heard.ts';
import { type Env, Processes } from '../support/process.ts';
import { type Running, startProjector } from '../support/projector-run.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';

const processes = new Processes();
const prefix = freshKeyPrefix();
const sizes = ['--riders', '80', '--rides', '30'];
let cluster: RedisCluster;
let masters: Redis[];
let env: Env;
/** Without its background check, which would mend what the test damages. */
let projector: Running;
let close: () => Promise<unknown>;

beforeAll(async () => {
  cluster = await startRedisCluster();
  masters = cluster.nodes.map(({ url }) => new Redis(url));
  env = {
    KAFKA_BROKERS: kafkaBrokers(),
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    REDIS_URL: cluster.url,
    REDIS_CLUSTER: 'true',
    REDIS_KEY_PREFIX: prefix,
    LOG_LEVEL: 'warn',
  };
  expect(await processes.run(['topics', '--partitions', '3'], env)).toMatchObject({ code: 0 });
  expect(await processes.run(['simulate', ...sizes, '--rate', '0', '--count', '1'], env)).toMatchObject({ code: 0 });
  const log = openKafkaLog(loadSettings(env).kafka!, silentLog, new AbortController().signal);
  const writer = await redisViewWriter({ url: cluster.url, cluster: true, keyPrefix: prefix });
  projector = startProjector(log, writer);
  close = () => Promise.all([writer.close(), log.close()]);
  await projector.ready();
});
afterAll(async () => {
  await projector?.stop();
  await close?.();
  for (const master of masters ?? []) master.disconnect();
  await processes.close();
  await cluster?.stop();
});

async function verify(...args: string[]) {
  const { code, out, err } = await heard((io) => runCli(['verify', '--json', ...args], io, env));
  const lines = out.map((line) => JSON.parse(line) as Record<string, unknown>);
  const { summary } = lines.pop() as { summary: Record<string, unknown> };
  return { code, err, summary, lines };
}

const namesOf = ({ lines }: { lines: Record<string, unknown>[] }) =>
  lines.map(({ what, key }) => `${what} ${key}`).sort();

/** Damages what one master holds in every way there is; what verify is to say of it. */
async function damage(master: Redis): Promise<string[]> {
  const views = (kind: string) => master.keys(`${prefix}g${viewFormat}:*:${kind}:*`).then((keys) => keys.sort());
  const [night, gone, otherType] = (await views('night')) as [string, string, string];
  const [reader, otherReader] = (await views('reader')) as [string, string];
  const value = (await master.getBuffer(night))!;
  await master.setrange(night, value.length - 1, String.fromCharCode(value[value.length - 1]! ^ 1));
  // One by one: they may be in different slots.
  for (const key of [gone, otherType]) await master.del(key);
  await master.lpush(otherType, 'x');
  const [field] = await master.hkeys(reader);
  await master.hset(reader, field!, 'x');
  await master.del(otherReader);
  await master.set(otherReader, 'x');
  const extra = night.replace(/:night:.*/, ':junk:1');
  await master.set(extra, 'x');
  return [
    `different ${night}`,
    `missing ${gone}`,
    `wrong type ${otherType}`,
    `different ${reader}`,
    `wrong type ${otherReader}`,
    `extra ${extra}`,
  ];
}

it('verify of a Redis Cluster names what differs on each of its masters, and --repair has it mended', async () => {
  expect(await verify()).toMatchObject({ code: 0, err: [], lines: [], summary: { differences: 0, unknown: 0 } });
  const wanted = (await Promise.all(masters.map(damage))).flat().sort();
  expect(namesOf(await verify())).toEqual(wanted);
  const repaired = await verify('--repair');
  expect(repaired).toMatchObject({ code: 1, err: [], summary: { mended: wanted.length } });
  expect(namesOf(repaired)).toEqual(wanted);
  expect(await verify()).toMatchObject({ code: 0, lines: [], summary: { differences: 0 } });
});
