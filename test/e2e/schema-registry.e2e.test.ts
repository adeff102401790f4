import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import avsc from 'avsc';
import { Redis } from 'ioredis';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { liveKey, metro, night, ride, rider, says } from '../reference/example-log.ts';
import type { LoggedRecord } from '../reference/facts.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { freshGroup, freshKeyPrefix, freshTopicPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { kafkaClient } from '../support/servers/kafka.ts';
import { readTopic } from '../support/servers/kafka-topic.ts';

// A registry that answers, or is away, and records of writers whose schemas it holds: one older than ours, two newer.

const processes = new Processes();
const developerKey = `rck_${'a'.repeat(43)}`;
let env: Env;
let registry: Registry;
let service: RunningService;

interface Registry {
  url: string;
  schemas: Map<number, object>;
  start(): Promise<void>;
  stop(): void;
}

async function makeRegistry(): Promise<Registry> {
  const schemas = new Map<number, object>();
  const [port] = await freePorts(1);
  const server = createServer((request, response) => {
    const id = Number(/^\/schemas\/ids\/(\d+)/.exec(request.url!)?.[1]);
    const schema = schemas.get(id);
    response.writeHead(schema ? 200 : 404, { 'content-type': 'application/vnd.schemaregistry.v1+json' });
    response.end(JSON.stringify(schema ? { schema: JSON.stringify(schema) } : { error_code: 40403, message: 'none' }));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    schemas,
    async start() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface RecordSchema {
  fields: { name: string; type: unknown; default?: unknown }[];
}

const schemaOf = async (topic: TopicName): Promise<RecordSchema> =>
  JSON.parse(await readFile(new URL(`../../schemas/events/${topic}.avsc`, import.meta.url), 'utf8'));

/** The Confluent wire format, written with avsc alone: 00, the schema's id in four bytes, the value. */
function registered(id: number, value: object): Buffer {
  const type = avsc.Type.forSchema(structuredClone(registry.schemas.get(id)) as never, { wrapUnions: false });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, type.toBuffer(value)]);
}

async function publish(topic: TopicName, key: string, value: Buffer): Promise<void> {
  const client = kafkaClient();
  const producer = client.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  await producer.send({ topic: `${env.KAFKA_TOPIC_PREFIX}${topic}`, messages: [{ key, value, partition: 0 }] });
  await producer.disconnect();
}

const publishPlain = ({ topic, key, value }: LoggedRecord): Promise<void> =>
  publish(topic, key, encodeValue(topic, value as never));

/** All that is stored of schemas. */
async function storedSchemas(prefix: string): Promise<string[]> {
  const redis = new Redis(env.REDIS_URL!);
  const names = await redis.keys(`${redisKeys(prefix).schema('')}*`);
  const texts = await redis.mget(names);
  redis.disconnect();
  return [...names, ...texts.map(String)];
}

interface Nights {
  nights: { title: string; day: string; going_count: number }[];
}

/** Nights of a day as `title (going)`; the status where it is not 200. */
async function shown(id: string, day: string): Promise<string[] | number> {
  const headers = { 'X-Api-Key': developerKey };
  const response = await fetch(`${service.api}/metros/${id}/days/${day}`, { headers });
  if (response.status !== 200) return response.status;
  return ((await response.json()) as Nights).nights.map(({ title, going_count }) => `${title} (${going_count})`);
}

const soon = { timeout: 20_000, interval: 100 };

beforeAll(async () => {
  registry = await makeRegistry();
  env = {
    KAFKA_BROKERS: kafkaBrokers(),
    KAFKA_TOPIC_PREFIX: freshTopicPrefix(),
    KAFKA_GROUP: freshGroup(),
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
    SCHEMA_REGISTRY_URL: registry.url.replace('//', '//reader:hunter2@'),
  };
  const [riders, rides] = await Promise.all([schemaOf('riders'), schemaOf('rides')]);
  const surface = { name: 'surface', type: 'string' };
  registry.schemas.set(1, { ...riders, fields: riders.fields.filter(({ name }) => name !== 'name') });
  registry.schemas.set(2, { ...rides, fields: [surface, ...rides.fields] });
  registry.schemas.set(3, { ...rides, fields: [...rides.fields, surface, { name: 'gravel', type: 'boolean' }] });
  expect(await processes.run(['topics', '--partitions', '1'], env)).toMatchObject({ code: 0 });

  await publishPlain(liveKey(developerKey));
  await publishPlain(metro('pdx'));
  await publishPlain(night('loop', '2015-06-13'));
  await publishPlain(says('alice', 'GOING', 'loop', '2015-06-13'));
  const { name: _, ...olderRider } = rider('alice').value as unknown as Record<string, unknown>;
  await publish('riders', 'alice', registered(1, olderRider));
  await publish('rides', 'loop', registered(2, { ...ride('loop').value, surface: 'paved' }));
  service = await processes.start('start', env);
});
afterAll(async () => {
  registry.stop();
  await processes.close();
});

it('a registry that is away at start delays the partitions that need it, and no other', async () => {
  await service.ready();
  await service.printed(/Cannot look up schema 2: the schema registry at \S+ can't be reached/);
  expect(await shown('pdx', '2015-06-13')).toEqual([]);
  await publishPlain(metro('second'));
  await expect.poll(() => shown('second', '2015-06-13'), soon).toEqual([]);
});

// docs/rules.md#encodings, #schema-versions
it('records of older and newer writers are read once the registry answers', async () => {
  await registry.start();
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['A ride (1)']);
  await service.printed('the schema registry answers again');
});

it('a registry that goes away later delays only the partition with a schema not seen before', async () => {
  registry.stop();
  await publish('rides', 'loop', registered(2, { ...ride('loop', { title: 'Known' }).value, surface: 'dirt' }));
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['Known (1)']);
  await publish(
    'rides',
    'loop',
    registered(3, { ...ride('loop', { title: 'Newer' }).value, surface: 'dirt', gravel: true }),
  );
  await publishPlain(night('loop', '2015-06-14'));
  await expect.poll(() => shown('pdx', '2015-06-14'), soon).toEqual(['Known (0)']);
  await service.printed('Cannot look up schema 3');
  expect(await shown('pdx', '2015-06-13')).toEqual(['Known (1)']);
  await registry.start();
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['Newer (1)']);
});

it('a schema that the registry does not have makes a bad record, and the flow goes on', async () => {
  await publish('rides', 'loop', Buffer.from([0, 0, 0, 0, 99, 1, 2, 3]));
  await publish('rides', 'loop', registered(2, { ...ride('loop', { title: 'After' }).value, surface: 'paved' }));
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['After (1)']);
  const rejected = () => readTopic(kafkaBrokers(), `${env.KAFKA_TOPIC_PREFIX}rejected`);
  await expect.poll(async () => (await rejected()).length, soon).toBe(1);
  const [{ value, headers }] = (await rejected()) as [Awaited<ReturnType<typeof rejected>>[number]];
  expect(value).toEqual(Buffer.from([0, 0, 0, 0, 99, 1, 2, 3]));
  expect(headers['ride-calendar.reason']).toBe('unknown schema id');
});

it('a projector that starts while the registry is away folds what was folded before', async () => {
  const { out, err } = await service.stop();
  expect(out + err).not.toContain('hunter2');
  registry.stop();
  const stored = await storedSchemas(env.REDIS_KEY_PREFIX!);
  expect(stored.some((text) => text.includes('surface'))).toBe(true);
  expect(stored.join()).not.toMatch(/hunter2|reader:/);
  service = await processes.start('start', env);
  await service.ready();
  await service.printed('Schema 3 is the one stored beside the views');
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['After (1)']);
  await publish('rides', 'loop', registered(2, { ...ride('loop', { title: 'Later' }).value, surface: 'paved' }));
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['Later (1)']);
  await registry.start();
});
