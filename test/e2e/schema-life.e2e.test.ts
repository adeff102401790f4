import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import avsc from 'avsc';
import { Redis } from 'ioredis';
import { beforeAll, expect, it } from 'vitest';
import { freePort } from '../../infra/local/free-port.ts';
import { startRedisServer } from '../../infra/local/redis-server.ts';
import { singleObjectHeader } from '../../schemas/avro/single-object.ts';
import { liveKey, metro, night, ride } from '../reference/example-log.ts';
import { withNewerNights } from '../support/processes/next-version.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { said } from '../support/processes/ran.ts';
import { testStack } from '../support/processes/test-stack.ts';
import { TestKafka } from '../support/servers/kafka.ts';

// Writers' schemas that a registry holds, which may be away; a field more, a release that has it, and the way back; and a schema that
// nobody knows. A calendar is read all the time: a night that was cancelled by the newer schema is cancelled for good, whoever leads.

const open = testStack();
const kafka = open.use(new TestKafka());
const old = open.use(new Processes());
let next: Processes;
const developerKey = `rck_${'a'.repeat(43)}`;
const day = '2015-06-13';
let admin: Redis;
let env: Env;
let writerSchemas: string;
/** Schemas of nights with one more field each: that of the next release, and one that no release knows. */
let [note, unheard] = ['', ''];
/** Of the old release: an API, and who leads. */
let api: RunningService;
let leader: RunningService;

/** Schemas of rides by their ids in the registry. */
const registered = new Map<number, object>();
const registry = createServer(({ url }, response) => {
  const schema = registered.get(Number(/^\/schemas\/ids\/(\d+)/.exec(url!)?.[1]));
  response.writeHead(200, { 'content-type': 'application/vnd.schemaregistry.v1+json' });
  response.end(JSON.stringify({ schema: JSON.stringify(schema) }));
});
const startRegistry = () =>
  once(registry.listen(Number(new URL(env.SCHEMA_REGISTRY_URL!).port), '127.0.0.1'), 'listening');
const stopRegistry = () => {
  registry.closeAllConnections();
  registry.close();
};

const typeOf = (schema: unknown) => avsc.Type.forSchema(schema as never, { wrapUnions: false });

/** The ride `loop` in the Confluent wire format, written with avsc alone: 00, the schema's id in four bytes, the value. */
async function publishRide(id: number, title: string): Promise<void> {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  const value = { ...ride('loop', { title }).value, surface: 'paved', gravel: true };
  const bytes = typeOf(structuredClone(registered.get(id))).toBuffer(value);
  await kafka.sendRaw('rides', [{ key: 'loop', value: Buffer.concat([head, bytes]) }]);
}

/** Cancels a ride's night, in a record of a schema that has one more field. */
async function cancel(id: string, schema: string): Promise<void> {
  const type = typeOf(JSON.parse(schema));
  const { key, value } = night(id, day, { status: 'CANCELLED' });
  const more = { ...value, note: 'rain', unheard: 'rain' };
  await kafka.sendRaw('nights', [{ key, value: Buffer.concat([singleObjectHeader(type), type.toBuffer(more)]) }]);
}

const ask = (path: string) => fetch(api.api + path, { headers: { 'X-Api-Key': developerKey } });

/** A ride's title, and its night's status; null where there is no answer. */
async function shown(id: string): Promise<string | null> {
  const response = await ask(`/rides/${id}`).catch(() => null);
  if (!response?.ok) return null;
  const { title, nights } = (await response.json()) as { title: string; nights: { status: string }[] };
  return `${title}: ${nights[0]?.status}`;
}

/** Reads a ride until told to end. Once its night was cancelled, it is never on again. */
function watch(id: string) {
  let [ended, cancelled, back] = [false, false, 0];
  const done = (async () => {
    for (; !ended; await sleep(20)) {
      const text = (await shown(id)) ?? '';
      if (cancelled && text.endsWith(': on')) back++;
      cancelled ||= text.endsWith(': cancelled');
    }
  })();
  return async () => {
    ended = true;
    await done;
    expect({ cancelled, back }).toEqual({ cancelled: true, back: 0 });
  };
}

const soon = { timeout: 60_000, interval: 100 };
const shows = (id: string, text: string) => expect.poll(() => shown(id), soon).toBe(text);
const projector = (of: Processes, more: Env = {}) => of.start('projector', { ...env, ...more });
const tool = (args: string[], more: Env = {}) => said(args, { ...env, LOG_LEVEL: 'warn', ...more });
const unresolved = async (): Promise<string> => {
  const { code, out } = await tool(['lag']);
  return `${code} ${/.* nobody knows: rejected/.exec(out)?.[0] ?? ''}`;
};

beforeAll(async () => {
  const [nights, rides] = await Promise.all(
    ['nights', 'rides'].map(async (topic) =>
      JSON.parse(await readFile(new URL(`../../schemas/events/${topic}.avsc`, import.meta.url), 'utf8')),
    ),
  );
  const withField = (name: string) =>
    JSON.stringify({ ...nights, fields: [...nights.fields, { name, type: ['null', 'string'], default: null }] });
  [note, unheard] = [withField('note'), withField('unheard')];
  const surface = { name: 'surface', type: 'string' };
  registered.set(2, { ...rides, fields: [surface, ...rides.fields] });
  registered.set(3, { ...rides, fields: [...rides.fields, surface, { name: 'gravel', type: 'boolean' }] });
  next = open.use(new Processes(await withNewerNights(join(await old.folder(), 'next'), note)));
  writerSchemas = join(await old.folder(), 'schemas');
  await mkdir(writerSchemas);
  for (const [name, schema] of Object.entries({ note, unheard }))
    await writeFile(join(writerSchemas, `${name}.avsc`), schema);
  const redis = open.adopt(await startRedisServer(), (each) => each.stop());
  admin = open.adopt(new Redis(redis.url), (each) => each.disconnect());
  open.defer(stopRegistry);
  env = {
    ...kafka.env,
    REDIS_URL: redis.url,
    SCHEMA_REGISTRY_URL: `http://reader:hunter2@127.0.0.1:${await freePort()}`,
  };
  await kafka.createTopics();
  await kafka.publish(liveKey(developerKey), metro('pdx'), ride('taco'), night('taco', day), night('loop', day));
  await publishRide(2, 'A ride');
  api = await old.start('api', { REDIS_URL: redis.url });
  leader = await (await projector(old)).ready();
  await api.ready();
});

// docs/rules.md#encodings, #schema-versions
it('a registry that is away, at the start or later, delays the partition with a schema not seen before, and no other, until it answers', async () => {
  await leader.printed(/Cannot look up schema 2: the schema registry at \S+ can't be reached/);
  expect(await shown('loop')).toBeNull();
  await kafka.publish(metro('second'));
  await expect.poll(async () => (await ask(`/metros/second/days/${day}`)).status, soon).toBe(200);
  await startRegistry();
  await shows('loop', 'A ride: on');
  await leader.printed('the schema registry answers again');
  stopRegistry();
  await publishRide(2, 'Known');
  await shows('loop', 'Known: on');
  await publishRide(3, 'Newer');
  await leader.printed('Cannot look up schema 3');
  expect(await shown('loop')).toBe('Known: on');
  await startRegistry();
  await shows('loop', 'Newer: on');
  stopRegistry();
});

// docs/rules.md#kept-schemas, #schema-changes
it('a release with a field more, and the way back, lose nothing, though the registry is away and the store is emptied between', async () => {
  const end = watch('loop');
  const newer = await (await projector(next)).ready();
  await newer.printed('Schema 3 is the one stored beside the views');
  const { out, err } = await leader.stop();
  expect(out + err).not.toContain('hunter2');
  const stored = async () => JSON.stringify(await admin.hgetall('ride-calendar:schemas'));
  expect(await stored()).toContain('surface');
  expect(await stored()).not.toMatch(/hunter2|reader:/);
  await publishRide(2, 'Later');
  await cancel('loop', note);
  await shows('loop', 'Later: cancelled');
  await admin.flushall();
  await expect.poll(stored, soon).toContain('surface');
  await shows('loop', 'Later: cancelled');

  leader = await (await projector(old)).ready();
  await newer.stop();
  // For commands, which may have no store to read schemas from.
  await startRegistry();
  await kafka.publish(ride('taco', { title: 'Led by the old release' }));
  await shows('taco', 'Led by the old release: on');
  await end();
  expect(await unresolved()).toBe('0 ');
});

it('a schema that nobody knows is loud, and with WRITER_SCHEMAS and a restart it is read', async () => {
  await cancel('taco', unheard);
  await expect.poll(unresolved, soon).toBe('1 1 record of a schema that nobody knows: rejected');
  await expect.poll(async () => (await fetch(`${leader.origin}/readyz`)).text(), soon).toContain('WRITER_SCHEMAS');
  const verified = await tool(['verify']);
  expect([verified.code, verified.err]).toEqual([0, expect.stringContaining('1 record of a schema')]);
  const { out } = await tool(['rejected', 'list']);
  expect(out).toMatch(
    /unknown fingerprint\n\s+unresolved +nights\/0@\d+ .* got c301[0-9a-f]{16}, .*; known for nights: c301[0-9a-f]{16}/,
  );
  expect(await shown('taco')).toBe('Led by the old release: on');

  await leader.stop();
  await projector(old, { WRITER_SCHEMAS: writerSchemas });
  await shows('taco', 'Led by the old release: cancelled');
  expect(await unresolved()).toBe('0 ');
  // Commands without the store read by it, too.
  const more = { REDIS_KEY_PREFIX: 'elsewhere:', WRITER_SCHEMAS: writerSchemas };
  expect((await tool(['rejected', 'list', '--show'], more)).out).toContain('"reason_now":null');
  await writeFile(join(writerSchemas, 'broken.avsc'), '{"type":"record"}');
  const wrong = await tool(['projector'], { WRITER_SCHEMAS: writerSchemas });
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('broken.avsc is not one Avro schema')]);
});
