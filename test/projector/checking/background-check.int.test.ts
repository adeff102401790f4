import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, expect, it } from 'vitest';
import { redisViewWriter } from '../../../infra/redis/views/redis-view-writer.ts';
import { noMetrics, type ProjectorMetrics } from '../../../projector/ports/metrics.ts';
import { type AnyRecord, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { tagOf, viewFormat } from '../../../schemas/views/view-keys.ts';
import { freshKeyPrefix, redisUrl } from '../../support/servers/backends.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { namesInTags } from '../../support/stores/names-in-tags.ts';
import { type Running, startProjector } from '../../support/stores/projector-run.ts';
import type { HistoryRecord } from '../../support/worlds/histories.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

// P47

const redis = new Redis(redisUrl());
const open: { close(): Promise<void> }[] = [];
afterAll(async () => {
  for (const each of open.reverse()) await each.close();
  await redis.quit();
});

const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;
const day = 20_000;
// Few of the tags: a check takes a twentieth of the time at most, so a pass takes seconds on a busy machine.
const tags = [0, 16, 32, 48];
const named = namesInTags(tags);
const withDay = (name: string): string[] => [name, `${name}/2024-10-04`];
const riders = named('r', 150);
const rides = named('ride', 40, withDay);
const [metro] = named('metro', 1, withDay) as [string];

/** A projector that checks all the time, over a log that grows; what it counted and said. */
async function checking() {
  const keyPrefix = freshKeyPrefix();
  const offsets = new Map<TopicName, number>();
  const log = new MemoryEventLog({ partitions, records: [] });
  const publish = (topic: TopicName, key: string, value: AnyRecord | null): void => {
    const offset = offsets.get(topic) ?? 0;
    offsets.set(topic, offset + 1);
    log.append({ topic, partition: 0, offset, timestampMs: 0, key, value } satisfies HistoryRecord);
  };
  publish('metros', metro, { ...sampleRecords.metros, metro, time_zone: 'UTC' });
  for (const ride of rides) {
    publish('rides', ride, { ...sampleRecords.rides, ride, metro, posted: true });
    publish('nights', `${ride}/2024-10-04`, { ...sampleRecords.nights, ride, day });
  }
  for (const rider of riders) publish('riders', rider, { ...sampleRecords.riders, rider, handle: rider });
  const none = { close: false, flagged: false, blocked: false };
  // Enough watchers for fan-outs in slices.
  for (const other of riders.slice(0, 3)) {
    for (const rider of riders.slice(3)) {
      publish('relations', `${rider}/${other}`, { ...sampleRecords.relations, ...none, rider, other, follows: true });
    }
  }
  const going = (rider: string, ride: string, response: 'GOING' | 'NONE'): void =>
    publish('attendance', `${ride}/2024-10-04/${rider}`, {
      ...sampleRecords.attendance,
      ...{ ride, day, rider, response, saved: false },
    });
  for (const [i, rider] of riders.entries()) going(rider, rides[i % rides.length]!, 'GOING');
  const counted = { passes: 0, faulty: [] as string[] };
  const metrics: ProjectorMetrics = {
    ...noMetrics,
    checkedAll() {
      counted.passes += 1;
    },
    faulty: (kind) => void counted.faulty.push(kind),
  };
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const writer = await redisViewWriter({ url: redisUrl(), cluster: false, keyPrefix });
  const more = { metrics, tags, checkEveryMs: 5, log: { info() {}, warn: say, error: say } };
  const running: Running = startProjector(log, writer, null, more);
  open.push(writer, { close: () => running.stop() });
  await running.ready();
  const key = (kind: string, id: string, layer = 'pub') =>
    `${keyPrefix}g${viewFormat}:${layer}:{v${tagOf(id)}}:${kind}:${id}`;
  return { going, publish, counted, said, key };
}

it('a background check finds, counts, names and mends what somebody else changed, though its digest is right', async () => {
  const { counted, said, key } = await checking();
  const [rider] = riders as [string];
  const ride = key('ride', rides[0]!);
  const card = key('rider', rider);
  const wanted = (await redis.getBuffer(ride))!;
  const wantedCard = (await redis.getBuffer(card))!;
  await redis.setrange(ride, wanted.length - 1, '!');
  await redis.set(card, 'x');
  const foreign = key('ride', 'x')
    .replace(/pub:\{v\d+\}/, 'pub:{v16}')
    .replace(':ride:', ':junk:');
  await redis.set(foreign, '');
  await expect.poll(() => redis.getBuffer(ride), { timeout: 60_000 }).toEqual(wanted);
  await expect.poll(() => redis.getBuffer(card), { timeout: 60_000 }).toEqual(wantedCard);
  await expect.poll(() => redis.exists(foreign), { timeout: 60_000 }).toBe(0);
  await expect.poll(() => counted.faulty.toSorted(), { timeout: 60_000 }).toEqual(['foreign', 'ride', 'rider']);
  expect(said.join('\n')).toContain(`different ride ${rides[0]}`);
  expect(said.join('\n')).not.toContain(rider);
  const { passes } = counted;
  await expect.poll(() => counted.passes, { timeout: 60_000 }).toBeGreaterThan(passes + 1);
  expect(counted.faulty).toHaveLength(3);
});

it('a background check finds nothing in views that are right, while changes and fan-outs flow', async () => {
  const { going, publish, counted, said } = await checking();
  let turn = 0;
  // Until every tag was checked twice meanwhile, however busy the machine is.
  for (; counted.passes < 2; turn++) {
    // Riders whom all others follow, and everybody else.
    for (let i = 0; i < 10; i++) {
      const n = turn * 10 + i;
      going(riders[(n * 7) % riders.length]!, rides[(n * 3) % rides.length]!, n % 3 === 0 ? 'NONE' : 'GOING');
      going(riders[n % 3]!, rides[(n * 11) % rides.length]!, n % 2 === 0 ? 'NONE' : 'GOING');
    }
    const rider = riders[(turn * 13) % riders.length]!;
    const gone = turn % 5 === 0;
    publish('riders', rider, gone ? null : { ...sampleRecords.riders, rider, handle: `${rider}${turn}` });
    const title = `Ride ${turn}`;
    const ride = rides[turn % rides.length]!;
    publish('rides', ride, { ...sampleRecords.rides, ride, title, metro, posted: turn % 7 > 0 });
    await sleep(10);
  }
  expect([counted.faulty, said]).toEqual([[], []]);
});
