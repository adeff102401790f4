import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import avsc from 'avsc';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RedisServer, startRedisServer } from '../../infra/local/redis-server.ts';
import { singleObjectHeader } from '../../schemas/avro/single-object.ts';
import { runCli } from '../../services/command-line.ts';
import { liveKey, metro, night, ride } from '../reference/example-log.ts';
import { heard } from '../support/processes/heard.ts';
import { withNewerNights } from '../support/processes/next-version.ts';
import { type Env, Processes, type RunningService } from '../support/processes/process.ts';
import { kafkaBrokers } from '../support/servers/backends.ts';
import { TestKafka } from '../support/servers/kafka.ts';

// A field more, a release that has it, and the way back, while a calendar is read all the time: a night that was cancelled by the
// newer schema is cancelled for good, whoever leads (docs/rules.md#kept-schemas, #schema-changes).

const old = new Processes();
let next: Processes;
const kafka = new TestKafka();
const developerKey = `rck_${'a'.repeat(43)}`;
const day = '2015-06-13';
let redis: RedisServer;
let admin: Redis;
let env: Env;
let writerSchemas: string;
/** Schemas of nights with one more field each: that of the next release, and one that no release knows. */
let note: string;
let unheard: string;
/** Of the old release: an API, and who leads after the first story. */
let api: RunningService;
let leader: RunningService;

/** Cancels a ride's night, in a record of a schema that has one more field. */
async function cancel(id: string, schema: string): Promise<void> {
  const type = avsc.Type.forSchema(JSON.parse(schema), { wrapUnions: false });
  const { key, value } = night(id, day, { status: 'CANCELLED' });
  const more = { ...value, note: 'rain', unheard: 'rain' };
  await kafka.sendRaw('nights', [{ key, value: Buffer.concat([singleObjectHeader(type), type.toBuffer(more)]) }]);
}

/** The status of a ride's night: null where there is no answer. */
async function statusOf({ api }: RunningService, id: string): Promise<string | null> {
  const response = await fetch(`${api}/rides/${id}`, { headers: { 'X-Api-Key': developerKey } }).catch(() => null);
  if (!response?.ok) return null;
  return ((await response.json()) as { nights: { status: string }[] }).nights[0]?.status ?? null;
}

/** Reads a ride until told to end. Once its night was cancelled, it is never on again. */
function watch(api: RunningService, id: string) {
  let [ended, cancelled, back] = [false, false, 0];
  const done = (async () => {
    for (; !ended; await sleep(20)) {
      const status = await statusOf(api, id);
      if (cancelled && status === 'on') back++;
      cancelled ||= status === 'cancelled';
    }
  })();
  return async () => {
    ended = true;
    await done;
    expect({ cancelled, back }).toEqual({ cancelled: true, back: 0 });
  };
}

const soon = { timeout: 60_000, interval: 100 };
const shows = (api: RunningService, id: string, status = 'cancelled') =>
  expect.poll(() => statusOf(api, id), soon).toBe(status);
const projector = (of: Processes, more: Env = {}) => of.start('projector', { ...env, ...more });
/** A command in this process: what it says, and its exit code. */
async function tool(args: string[], settings: Env) {
  const { code, out, err } = await heard((io) => runCli(args, io, { ...settings, LOG_LEVEL: 'warn' }));
  return { code, out: out.join('\n'), err: err.join('\n') };
}
const unresolved = async (): Promise<string> => {
  const { code, out } = await tool(['lag'], env);
  return `${code} ${/.* nobody knows: rejected/.exec(out)?.[0] ?? ''}`;
};

beforeAll(async () => {
  const ours = JSON.parse(await readFile(new URL('../../schemas/events/nights.avsc', import.meta.url), 'utf8'));
  const withField = (name: string) =>
    JSON.stringify({ ...ours, fields: [...ours.fields, { name, type: ['null', 'string'], default: null }] });
  [note, unheard] = [withField('note'), withField('unheard')];
  next = new Processes(await withNewerNights(join(await old.folder(), 'next'), note));
  writerSchemas = join(await old.folder(), 'schemas');
  await mkdir(writerSchemas);
  for (const [name, schema] of Object.entries({ note, unheard }))
    await writeFile(join(writerSchemas, `${name}.avsc`), schema);
  redis = await startRedisServer();
  admin = new Redis(redis.url);
  env = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: kafka.topicPrefix, REDIS_URL: redis.url };
  await kafka.createTopics();
  await kafka.publish(liveKey(developerKey), metro('pdx'));
  for (const id of ['loop', 'taco']) await kafka.publish(ride(id), night(id, day));
});
afterAll(async () => {
  admin.disconnect();
  await Promise.all([old.close(), next.close()]);
  await redis.stop();
  await kafka[Symbol.asyncDispose]();
});

it('a release with a field more, and the way back, lose nothing, though the store is emptied between', async () => {
  api = await old.start('api', { REDIS_URL: redis.url });
  const first = await (await projector(old)).ready();
  await api.ready();
  await shows(api, 'loop', 'on');
  const end = watch(api, 'loop');
  const newer = await (await projector(next)).ready();
  await first.stop();
  await cancel('loop', note);
  await shows(api, 'loop');
  await admin.flushall();
  await expect.poll(() => admin.hlen('ride-calendar:schemas'), soon).toBeGreaterThan(8);
  await shows(api, 'loop');

  leader = await (await projector(old)).ready();
  await newer.stop();
  await kafka.publish(ride('taco', { title: 'Led by the old release' }));
  await expect
    .poll(async () => (await fetch(`${api.api}/rides/taco`, { headers: { 'X-Api-Key': developerKey } })).text(), soon)
    .toContain('Led by the old release');
  await end();
  expect(await unresolved()).toBe('0 ');
}, 240_000);

it('a schema that nobody knows is loud, and with WRITER_SCHEMAS and a restart it is read; no standby leads by its old judgement', async () => {
  const standby = await (await projector(old)).ready();
  await cancel('taco', unheard);
  await expect.poll(unresolved, soon).toBe('1 1 record of a schema that nobody knows: rejected');
  for (const each of [leader, standby])
    await expect.poll(async () => (await fetch(`${each.origin}/readyz`)).text(), soon).toContain('WRITER_SCHEMAS');
  const verified = await tool(['verify'], env);
  expect([verified.code, verified.err]).toEqual([0, expect.stringContaining('1 record of a schema')]);
  const { out } = await tool(['rejected', 'list'], env);
  expect(out).toMatch(
    /unknown fingerprint\n\s+unresolved +nights\/0@\d+ .* got c301[0-9a-f]{16}, .*; known for nights: c301[0-9a-f]{16}/,
  );
  expect(await statusOf(api, 'taco')).toBe('on');

  // Only the leader is restarted.
  process.kill(standby.pid, 'SIGSTOP');
  await leader.stop();
  const restarted = await (await projector(old, { WRITER_SCHEMAS: writerSchemas })).ready();
  await shows(api, 'taco');
  const end = watch(api, 'taco');
  expect(await unresolved()).toBe('0 ');
  process.kill(standby.pid, 'SIGCONT');
  await standby.printed('stood still');
  await sleep(1_000);
  await restarted.kill();
  await standby.printed('Reading the log again from the start');
  await kafka.publish(ride('loop', { title: 'Led by the standby' }));
  await expect
    .poll(async () => (await fetch(`${api.api}/rides/loop`, { headers: { 'X-Api-Key': developerKey } })).text(), soon)
    .toContain('Led by the standby');
  await end();
  expect(await unresolved()).toBe('0 ');
  await Promise.all([standby.stop(), api.stop()]);
}, 240_000);

it('WRITER_SCHEMAS does in place of the store, for projectors and for commands', async () => {
  const elsewhere: Env = { ...env, REDIS_KEY_PREFIX: 'elsewhere:', WRITER_SCHEMAS: writerSchemas };
  const service = await (await old.start('start', elsewhere)).ready();
  for (const id of ['loop', 'taco']) await shows(service, id);
  const { REDIS_URL: _, ...withoutStore } = elsewhere;
  const list = async (more: Env) => (await tool(['rejected', 'list', '--show'], { ...withoutStore, ...more })).out;
  expect(await list({})).toContain('"reason_now":null');
  expect(await list({ WRITER_SCHEMAS: '' })).toContain('"reason_now":"unknown fingerprint: got');
  await writeFile(join(writerSchemas, 'broken.avsc'), '{"type":"record"}');
  const wrong = await tool(['projector'], elsewhere);
  expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('broken.avsc is not one Avro schema')]);
  await service.stop();
}, 120_000);
