import { Redis } from 'ioredis';
import { afterAll, expect, it } from 'vitest';
import { redisViewWriter } from '../../../infra/redis/redis-view-writer.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { freshKeyPrefix, redisUrl } from '../../support/backends.ts';
import type { HistoryRecord } from '../../support/histories.ts';
import { MemoryEventLog } from '../../support/memory-event-log.ts';
import { startProjector } from '../../support/projector-run.ts';
import { dumpRedis } from '../../support/redis-dump.ts';
import { smallWorld } from '../../support/small-world.ts';

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
