import { Redis } from 'ioredis';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { redisViewReader } from '../../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { redisLiveViews } from '../../../../infra/redis/views/stored-views.ts';
import { type TopicName, topicNames } from '../../../../schemas/events/records.ts';
import { dayText } from '../../../../schemas/views/days.ts';
import { readerKey } from '../../../../schemas/views/reader-fields.ts';
import { completeKey } from '../../../../schemas/views/view-keys.ts';
import { parseKey, riderKey } from '../../../../schemas/views/view-kinds.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { MemoryEventLog } from '../../../support/stores/memory-event-log.ts';
import { startProjector } from '../../../support/stores/projector-run.ts';
import { dumpRedis } from '../../../support/stores/redis-dump.ts';
import type { HistoryRecord } from '../../../support/worlds/histories.ts';
import { sampleRecords } from '../../../support/worlds/records.ts';
import { smallWorld } from '../../../support/worlds/small-world.ts';

// Somebody wrote to our keys by commands of another type: a start must not wait for ever for them to go.

const redis = new Redis(redisUrl());
afterAll(() => redis.quit());

const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;
const records = smallWorld.records.map(
  ({ topic, key, value }, offset): HistoryRecord => ({ topic, partition: 0, offset, timestampMs: 0, key, value }),
);

/** The keys of the world's views, with their values. Fences and positions are never alike. */
async function projectInto(keyPrefix: string): Promise<Map<string, string>> {
  const writer = await redisViewWriter({ url: redisUrl(), cluster: false, keyPrefix });
  const running = startProjector(new MemoryEventLog({ partitions, records }), writer);
  await running.ready();
  await running.stop();
  await writer.close();
  const views = [...(await dumpRedis(redis, keyPrefix))].filter(([name]) => /:(pub|me):\{v\d+\}:[a-z]+:/.test(name));
  return new Map(views.map(([name, value]) => [name.slice(keyPrefix.length), value]));
}

// docs/rules.md#complete
it('keys of another type are replaced, whatever they should hold', async () => {
  const wanted = await projectInto(freshKeyPrefix());
  expect([...wanted.keys()].some((name) => name.includes(':reader:'))).toBe(true);
  const keyPrefix = freshKeyPrefix();
  await projectInto(keyPrefix);
  let cursor = '0';
  const names: string[] = [];
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', `${keyPrefix}*`, 'COUNT', 5_000);
    cursor = next;
    names.push(...found);
  } while (cursor !== '0');
  // Views, riders' own layers, fences, positions and the words that tags are complete.
  expect(names.length).toBeGreaterThan(140);
  for (const name of names) await redis.multi().del(name).rpush(name, 'a list').exec();
  const extra = names.find((name) => name.includes(':ride:'))!.replace(/:ride:.*/, ':ride:of-nobody');
  await redis.rpush(extra, 'a list');
  expect(await projectInto(keyPrefix)).toEqual(wanted);
}, 60_000);

// Enough weeks for a rider's hash to be written in two batches.
const weeks = 600;
const response = (week: number, day: number, offset: number): HistoryRecord => ({
  topic: 'attendance',
  partition: 0,
  offset,
  timestampMs: 0,
  key: `ride1/${dayText(day + 7 * week)}/ada`,
  value: { ...sampleRecords.attendance, ride: 'ride1', day: day + 7 * week, rider: 'ada' },
});
const first = 16_000;
const ada = { ...sampleRecords.riders, rider: 'ada', handle: 'ada' };
const ofAda: HistoryRecord[] = [
  { topic: 'riders', partition: 0, offset: 0, timestampMs: 0, key: 'ada', value: ada },
  ...Array.from({ length: weeks }, (_, week) => response(week, first, week)),
];
const hash = readerKey('ada');
const { tag } = parseKey(hash);

/** A leader over the records of one rider, with a reader of what it writes. */
async function leading() {
  const settings = { url: redisUrl(), cluster: false, keyPrefix: freshKeyPrefix() };
  const keys = redisKeys(settings.keyPrefix);
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const log = { info: say, warn: say, error: say };
  const writer = await redisViewWriter(settings, log);
  const eventLog = new MemoryEventLog({ partitions, records: ofAda });
  const running = startProjector(eventLog, writer, null, { log });
  const reader = redisViewReader(settings);
  const live = await redisLiveViews(settings);
  onTestFinished(async () => {
    await running.stop();
    await Promise.all([writer.close(), reader.close(), live.close()]);
  });
  await running.ready();
  await expect.poll(async () => (await reader.ready()).ready, soon).toBe(true);
  // The compare that filled the store has ended.
  await expect.poll(() => redis.zscore(keys.open(tag), 'compare'), soon).toBeNull();
  /** What readers are told of the rider's fields, as long as they are told that nothing is missing; empty: 503. */
  const fields = (await redis.hkeys(keys.toRedis(hash))).sort();
  const read = async (): Promise<string> => {
    const [values, [complete]] = await Promise.all([reader.fields(hash, fields), reader.get([completeKey(tag)])]);
    return complete ? values.join() : '';
  };
  const whole = await read();
  return {
    ...{ eventLog, running, reader, live, keys, lines, fields, whole },
    replace: (...names: string[]) =>
      Promise.all(names.map((name) => redis.multi().del(name).rpush(name, 'a list').exec())),
    types: (...names: string[]) => Promise.all(names.map((name) => redis.type(name))),
    /** Reads until the fields are as wanted again. What was read besides: empty text is 503. */
    async readUntil(mended: () => Promise<boolean>): Promise<string[]> {
      const seen = new Set<string>();
      const over = Date.now() + 30_000;
      do seen.add(await read().catch(() => ''));
      while (!((await mended()) && seen.has(whole) && (await read().catch(() => '')) === whole) && Date.now() < over);
      return [...seen].filter((values) => values !== whole);
    },
  };
}

const soon = { timeout: 20_000 };

it('a rider’s hash of another type is written whole with the rider’s next change, and no part of it is read as all', async () => {
  const { eventLog, keys, lines, whole, fields, replace, types, readUntil } = await leading();
  const key = keys.toRedis(hash);
  expect([fields.length, whole.length > fields.length]).toEqual([weeks, true]);
  await replace(key);
  // The same week says another thing: the hash ends as it was.
  eventLog.append(response(3, first + 1, weeks), { ...response(3, first + 1, weeks + 1), value: null });
  const seen = await readUntil(async () => (await types(key))[0] === 'hash');
  expect(seen).toEqual(['']);
  expect((await redis.hkeys(key)).sort()).toEqual(fields);
  const told = lines.filter((line) => line.includes('Another program wrote'));
  expect(told).toEqual([expect.stringContaining(`a key of kind reader in tag ${tag} in Redis, with another type`)]);
}, 60_000);

it('a view and control keys of another type are replaced and named, and the view is not read as absent', async () => {
  const { reader, live, keys, lines, replace, types } = await leading();
  const card = riderKey('ada');
  await replace(keys.toRedis(card));
  await expect.poll(() => reader.get([card]).catch((error: Error) => error.name), soon).toBe('StoreAwayError');
  await live.askCompare([tag]);
  await expect.poll(() => reader.get([card]), soon).toEqual([expect.any(Buffer)]);
  for (const of of [keys.fence, keys.position, keys.open, keys.complete, keys.led] as const) {
    await replace(of(tag));
    const type = of === keys.open ? 'zset' : 'string';
    await expect.poll(() => types(of(tag)), soon).toEqual([type]);
    await expect.poll(() => lines.some((line) => line.includes(`wrote ${of(tag)} in Redis`)), soon).toBe(true);
    await expect.poll(async () => (await reader.ready()).ready, soon).toBe(true);
  }
}, 60_000);
