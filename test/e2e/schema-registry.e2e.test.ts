import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import avsc from 'avsc';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePorts } from '../../infra/local/free-port.ts';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import type { TopicName } from '../../schemas/events/records.ts';
import { liveKey, metro, night, ride, rider, says } from '../reference/example-log.ts';
import { Processes, type RunningService } from '../support/processes/process.ts';
import { freshKeyPrefix, kafkaBrokers, redisUrl } from '../support/servers/backends.ts';
import { TestKafka } from '../support/servers/kafka.ts';

// A registry that answers, or is away, and records of writers whose schemas it holds: one older than ours, two newer.

const processes = new Processes();
const kafka = new TestKafka();
const developerKey = `rck_${'a'.repeat(43)}`;
const env = {
  KAFKA_BROKERS: kafkaBrokers(),
  KAFKA_TOPIC_PREFIX: kafka.topicPrefix,
  REDIS_URL: redisUrl(),
  REDIS_KEY_PREFIX: freshKeyPrefix(),
};
let service: RunningService;
const startService = async () => (await processes.start('start', { ...env, SCHEMA_REGISTRY_URL: registryUrl })).ready();

const schemas = new Map<number, object>();
let registryUrl: string;
const registry = createServer(({ url }, response) => {
  const schema = schemas.get(Number(/^\/schemas\/ids\/(\d+)/.exec(url!)?.[1]));
  response.writeHead(schema ? 200 : 404, { 'content-type': 'application/vnd.schemaregistry.v1+json' });
  response.end(JSON.stringify(schema ? { schema: JSON.stringify(schema) } : { error_code: 40403, message: 'none' }));
});
const startRegistry = () => once(registry.listen(Number(new URL(registryUrl).port), '127.0.0.1'), 'listening');
const stopRegistry = () => {
  registry.closeAllConnections();
  registry.close();
};

interface RecordSchema {
  fields: { name: string; type: unknown; default?: unknown }[];
}

const schemaOf = async (topic: TopicName): Promise<RecordSchema> =>
  JSON.parse(await readFile(new URL(`../../schemas/events/${topic}.avsc`, import.meta.url), 'utf8'));

/** The Confluent wire format, written with avsc alone: 00, the schema's id in four bytes, the value. */
function registered(id: number, value: object): Buffer {
  const type = avsc.Type.forSchema(structuredClone(schemas.get(id)) as never, { wrapUnions: false });
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, type.toBuffer(value)]);
}

const publish = (topic: TopicName, key: string, value: Buffer) => kafka.sendRaw(topic, [{ key, value }]);
/** A ride by the schema with this id, which has a field that ours has not. */
const publishRide = (id: number, title: string) =>
  publish('rides', 'loop', registered(id, { ...ride('loop', { title }).value, surface: 'paved', gravel: true }));

/** All that is stored of schemas. */
async function storedSchemas(): Promise<string[]> {
  const redis = new Redis(env.REDIS_URL);
  const texts = await redis.hgetall(redisKeys(env.REDIS_KEY_PREFIX).schemas);
  redis.disconnect();
  return Object.entries(texts).flat();
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
  registryUrl = `http://reader:hunter2@127.0.0.1:${(await freePorts(1))[0]}`;
  const [riders, rides] = await Promise.all([schemaOf('riders'), schemaOf('rides')]);
  const surface = { name: 'surface', type: 'string' };
  schemas.set(1, { ...riders, fields: riders.fields.filter(({ name }) => name !== 'name') });
  schemas.set(2, { ...rides, fields: [surface, ...rides.fields] });
  schemas.set(3, { ...rides, fields: [...rides.fields, surface, { name: 'gravel', type: 'boolean' }] });
  await kafka.createTopics();
  await kafka.publish(liveKey(developerKey), metro('pdx'), night('loop', '2015-06-13'));
  await kafka.publish(says('alice', 'GOING', 'loop', '2015-06-13'));
  const { name: _, ...olderRider } = rider('alice').value as unknown as Record<string, unknown>;
  await publish('riders', 'alice', registered(1, olderRider));
  await publishRide(2, 'A ride');
  service = await startService();
});
afterAll(async () => {
  stopRegistry();
  await processes.close();
  await kafka[Symbol.asyncDispose]();
});

// docs/rules.md#encodings, #schema-versions
it('a registry that is away at start delays the partitions that need it, and no other, until it answers', async () => {
  await service.printed(/Cannot look up schema 2: the schema registry at \S+ can't be reached/);
  expect(await shown('pdx', '2015-06-13')).toEqual([]);
  await kafka.publish(metro('second'));
  await expect.poll(() => shown('second', '2015-06-13'), soon).toEqual([]);
  await startRegistry();
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['A ride (1)']);
  await service.printed('the schema registry answers again');
});

it('a registry that goes away later delays only the partition with a schema not seen before', async () => {
  stopRegistry();
  await publishRide(2, 'Known');
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['Known (1)']);
  await publishRide(3, 'Newer');
  await kafka.publish(night('loop', '2015-06-14'));
  await expect.poll(() => shown('pdx', '2015-06-14'), soon).toEqual(['Known (0)']);
  await service.printed('Cannot look up schema 3');
  expect(await shown('pdx', '2015-06-13')).toEqual(['Known (1)']);
  await startRegistry();
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['Newer (1)']);
});

it('a projector that starts while the registry is away folds what was folded before', async () => {
  const { out, err } = await service.stop();
  expect(out + err).not.toContain('hunter2');
  stopRegistry();
  const stored = await storedSchemas();
  expect(stored.some((text) => text.includes('surface'))).toBe(true);
  expect(stored.join()).not.toMatch(/hunter2|reader:/);
  service = await startService();
  await service.printed('Schema 3 is the one stored beside the views');
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['Newer (1)']);
  await publishRide(2, 'Later');
  await expect.poll(() => shown('pdx', '2015-06-13'), soon).toEqual(['Later (1)']);
});
