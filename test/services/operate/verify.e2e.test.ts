import { Redis } from 'ioredis';
import { afterAll, expect, it, vi } from 'vitest';
import { archiveEventLog } from '../../../infra/archive/log/archive-event-log.ts';
import { redisViewWriter } from '../../../infra/redis/views/redis-view-writer.ts';
import type { EventLog } from '../../../projector/ports/event-log.ts';
import { tagOf, viewFormat } from '../../../schemas/views/view-keys.ts';
import { openKafkaLog } from '../../../services/backends/open-kafka.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { quietIo } from '../../support/processes/heard.ts';
import type { Env } from '../../support/processes/process.ts';
import { ran } from '../../support/processes/ran.ts';
import { freshKafka, freshKeyPrefix, redisUrl } from '../../support/servers/backends.ts';
import { type Running, startProjector } from '../../support/stores/projector-run.ts';
import { dumpRedis } from '../../support/stores/redis-dump.ts';
import { portlandDirectory } from '../../support/worlds/portland.ts';

const redis = new Redis(redisUrl());
const prefix = freshKeyPrefix();
const env: Env = { ...freshKafka(), REDIS_URL: redisUrl(), REDIS_KEY_PREFIX: prefix, LOG_LEVEL: 'warn' };
async function project(eventLog: EventLog, keyPrefix = prefix): Promise<Running> {
  const writer = await redisViewWriter({ url: redisUrl(), cluster: false, keyPrefix });
  const running = startProjector(eventLog, writer);
  await running.ready();
  const stop = async () => {
    await running.stop();
    await Promise.all([writer.close(), eventLog.close()]);
  };
  return { ...running, stop };
}

const run = (args: readonly string[], more: Env = {}) => ran(args, { ...env, ...more });
const simulated = (...args: string[]) => run(['simulate', '--riders', '80', '--rides', '30', ...args]);

expect(await run(['topics', '--partitions', '3'])).toMatchObject({ code: 0 });
expect(await simulated('--rate', '0', '--count', '1')).toMatchObject({ code: 0 });
// In this process, and without its background check, which would mend what the tests damage.
const projector = await project(openKafkaLog(loadSettings(env).kafka!, loadSettings(env), quietIo));
afterAll(() => redis.quit());

async function verify(...args: string[]) {
  const { code, out, err } = await run(['verify', '--json', ...args]);
  const lines = out.map((line) => JSON.parse(line) as Record<string, unknown>);
  const { summary } = lines.pop() as { summary: Record<string, unknown> };
  return { code, err: err.join('\n'), summary, lines };
}

async function keysOf(pattern: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const found of redis.scanStream({ match: prefix + pattern, count: 5_000 })) keys.push(...found);
  return keys.sort();
}

/** Another last byte. */
async function flip(key: string): Promise<void> {
  const value = (await redis.getBuffer(key))!;
  await redis.setrange(key, value.length - 1, String.fromCharCode(value[value.length - 1]! ^ 1));
}

it('verify beside a projector names a byte that differs with its key and position, and --repair has the projector mend it', async () => {
  const [ride] = await keysOf('g*:pub:*:ride:*');
  await flip(ride!);
  const untagged = `${prefix}g${viewFormat}:junk`;
  // Of sign-in, and of other view formats.
  const others = ['{auth}:x', `g${viewFormat + 1}:x`, `g${viewFormat}0:x`].map((name) => prefix + name);
  await redis.mset([untagged, ...others].flatMap((name) => [name, 'x']));
  const found = await verify();
  expect(found).toMatchObject({ code: 1, err: '', summary: { differences: 2, unknown: 0 } });
  const position = expect.objectContaining({ rides: [expect.any(Number), expect.any(Number), expect.any(Number)] });
  const [, tag, id] = /\{v(\d+)\}:ride:(.*)/.exec(ride!)!;
  expect(found.lines).toContainEqual({ what: 'different', key: ride, kind: 'ride', id, part: Number(tag), position });
  expect(found.lines).toContainEqual(expect.objectContaining({ what: 'extra', key: untagged, part: null }));
  const repaired = await verify('--repair');
  expect(repaired).toMatchObject({ code: 1, summary: { differences: 2, fixed: 1 } });
  expect(repaired.err).toContain('redis-cli DEL');
  await redis.del(untagged);
  expect(await verify()).toMatchObject({ code: 0, err: '', summary: { differences: 0 } });
  expect(await redis.exists(...others)).toBe(others.length);
  await redis.del(others);
});

it('verify beside a projector raises no false alarm while 1,000 changes a second flow, and finds what differs all the same', async () => {
  const changes = simulated('--rate', '1000', '--count', '2000', '--seed', '3');
  expect(await verify()).toMatchObject({ code: 0, err: '', lines: [], summary: { differences: 0, unknown: 0 } });
  const hash = 'f'.repeat(64);
  await redis.set(`${prefix}g${viewFormat}:pub:{v${tagOf(hash)}}:key:${hash}`, 'x');
  const found = await verify('--repair');
  expect(await changes).toMatchObject({ code: 0 });
  expect(found.lines).toEqual([expect.objectContaining({ what: 'extra', kind: 'key' })]);
  expect(found).toMatchObject({ code: 1, summary: { differences: 1, fixed: 1 } });
});

it('verify where nobody leads changes no key, compares up to the stored position, and says what it can’t know', async () => {
  // All changes are read, so that the leader leaves its position at the log's end.
  await vi.waitFor(async () => expect(await verify()).toMatchObject({ code: 0 }), { timeout: 60_000 });
  await projector.stop();
  const before = await dumpRedis(redis, prefix);
  expect(await verify()).toMatchObject({ code: 0, summary: { differences: 0 } });
  expect(await dumpRedis(redis, prefix)).toEqual(before);
  const [ride] = await keysOf('g*:pub:*:ride:*');
  await flip(ride!);
  const found = await verify('--repair');
  expect(found).toMatchObject({ code: 1, summary: { differences: 1, fixed: 0 } });
  expect(found.err).toContain('no projector leads');
  await flip(ride!);
  expect(await simulated('--rate', '0', '--count', '50', '--seed', '9')).toMatchObject({ code: 0 });
  const later = await verify();
  expect(later).toMatchObject({ code: 3, summary: { differences: 0 } });
  const tags = later.summary.unknown_parts as number[];
  expect(tags.length).toBeGreaterThan(0);
  expect(later.err).toContain(`which did not move on in ${tags.length} part`);
});

it('verify of an archive compares the views with the archive that was projected, and names what differs as text', async () => {
  const archive = {
    REDIS_URL: redisUrl(),
    REDIS_KEY_PREFIX: freshKeyPrefix(),
    ARCHIVE_DIR: portlandDirectory,
    KAFKA_PARTITIONER: 'crc32',
  };
  const projecting = await project(archiveEventLog({ dir: portlandDirectory }), archive.REDIS_KEY_PREFIX);
  const verifyIt = (more: Env = {}) => ran(['verify'], { ...archive, ...more });
  // docs/rules.md#one-partition-per-key
  const other = await verifyIt({ KAFKA_PARTITIONER: 'nights:crc32,relations:crc32' });
  const misplaced = /^\d+ misplaced records of attendance, the first at attendance\/\d@\d+: murmur2 /;
  const right = /^\d{3,} views compared with the log: none differs$/;
  expect(other).toMatchObject({ code: 0, out: [right, misplaced].map((one) => expect.stringMatching(one)) });
  const metro = `${archive.REDIS_KEY_PREFIX}g${viewFormat}:pub:{v${tagOf('portland')}}:metro:portland`;
  await redis.append(metro, 'x');
  const { code, out: told } = await verifyIt();
  const asOf = expect.stringMatching(/^As of metros\/0@\d+ .*relations\/0@\d+/);
  expect([code, ...told.slice(0, 2)]).toEqual([1, asOf, `  different: ${metro}`]);
  await projecting.stop();
});

it.each([
  [{ REDIS_URL: '', KAFKA_BROKERS: '' }, 2, [/REDIS_URL is missing/, /KAFKA_BROKERS is missing, and ARCHIVE_DIR too/]],
  [{ REDIS_KEY_PREFIX: freshKeyPrefix() }, 1, [/no projector has written all views/]],
  [{ REDIS_URL: 'redis://127.0.0.1:1' }, 1, [/Redis cannot be reached/]],
])('verify with %j can’t be run, and says why', async (more, exit, words) => {
  const { code, err } = await run(['verify'], more);
  expect([code, err]).toEqual([exit, words.map((one) => expect.stringMatching(one))]);
});
