import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LogRecord } from '../../projector/ports/decoded-record.ts';
import type { EventLog } from '../../projector/ports/event-log.ts';
import { murmur2Partition } from '../../schemas/events/partitioner.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { type Env, Processes } from '../support/processes/process.ts';
import { kafkaBrokers } from '../support/servers/backends.ts';
import { TestKafka } from '../support/servers/kafka.ts';
import { readTopic } from '../support/servers/kafka-topic.ts';
import { readArchive } from '../support/worlds/archive.ts';

// `archive load` as a process, killed with SIGKILL in mid-load as often as it takes.

const processes = new Processes();
const run = (args: string[], env: Env = {}) => processes.run(args, env);
let archive: string;
beforeAll(async () => {
  archive = join(await processes.folder(), 'archive');
  const made = await run(['simulate', '--archive', archive, '--riders', '2000', '--rides', '150']);
  expect(made.code).toBe(0);
});
afterAll(() => processes.close());

/** How many records the topics hold, by their bounds. */
const countIn = async (log: EventLog): Promise<number> => {
  const bounds = await log.bounds();
  return topicNames.flatMap((topic) => bounds[topic]).reduce((sum, { low, end }) => sum + end - low, 0);
};

it('a load that is killed is refused again without --append, and comes to the same facts with it, however often', async () => {
  await using kafka = new TestKafka();
  await kafka.createTopics({ partitions: 3 });
  const log = kafka.eventLog();
  const env = { KAFKA_BROKERS: kafkaBrokers(), KAFKA_TOPIC_PREFIX: kafka.topicPrefix };
  const { records } = await readArchive(archive);
  for (const more of [[], ['--append']]) {
    const load = await processes.start(['archive', 'load', archive, ...more], env);
    const before = await countIn(log);
    // In mid-load: some thousand records after it has gone on.
    while ((await countIn(log)) - before < 1_000 && !load.hasEnded()) await sleep(5);
    await load.kill();
  }
  const held = await countIn(log);
  const refused = await run(['archive', 'load', archive], env);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('Cannot load the archive: metros holds')]);
  expect(await countIn(log)).toBe(held);
  const { code, out, err } = await run(['archive', 'load', archive, '--append', '--json'], env);
  expect([code, err]).toEqual([0, '']);
  const result = JSON.parse(out) as { records: number; same: number; newer: number };
  const keys = new Set((records as LogRecord[]).map(({ topic, key }) => `${topic} ${key}`));
  expect([result.records + result.same, result.newer]).toEqual([keys.size, 0]);
  expect(result.same).toBeGreaterThanOrEqual(1_000);

  const last = (list: { key: string; value: unknown }[]) =>
    new Map(list.map(({ key, value }) => [key, value === null]));
  for (const topic of ['riders', 'nights', 'attendance'] as const) {
    const there = (await readTopic(kafkaBrokers(), kafka.topicPrefix + topic)).map((one) => ({
      ...one,
      key: String(one.key),
    }));
    expect(there.filter(({ key, partition }) => partition !== murmur2Partition(Buffer.from(key), 3))).toEqual([]);
    const wanted = (records as LogRecord[]).filter((one) => one.topic === topic);
    expect(last(there)).toEqual(last(wanted.toSorted((a, b) => a.timestampMs - b.timestampMs || a.offset - b.offset)));
  }
}, 300_000);
