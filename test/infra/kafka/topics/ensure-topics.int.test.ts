import { expect, test } from 'vitest';
import { ensureTopics } from '../../../../infra/kafka/topics/ensure-topics.ts';
import { topicSettings } from '../../../../infra/kafka/topics/topic-settings.ts';
import { topicNames } from '../../../../schemas/events/records.ts';
import { freshTopicPrefix } from '../../../support/servers/backends.ts';
import { TestKafka } from '../../../support/servers/kafka.ts';

const longMax = '9223372036854775807';

// docs/rules.md#topics, #compaction
test('topics that are missing are created as planned, and then differ in nothing', async () => {
  await using kafka = new TestKafka();
  const missing = await ensureTopics({ ...kafka.options, create: false });
  expect(new Set(missing.map(({ state }) => state))).toEqual(new Set(['missing']));
  const created = await ensureTopics(kafka.options);
  const partitionsOf = { riders: 4, rides: 4, nights: 4, attendance: 8, relations: 8 } as Record<string, number>;
  const names = [...topicNames, 'rejected'];
  const planned = names.map((name) => [kafka.topicPrefix + name, partitionsOf[name] ?? 1, 'created']);
  expect(created.map(({ topic, partitions, state }) => [topic, partitions, state])).toEqual(planned);
  const weekMs = '604800000';
  const [nights, rejected] = ['nights', 'rejected'].map((name) => kafka.topicPrefix + name) as [string, string];
  const settings = await topicSettings(await kafka.admin(), [nights, rejected]);
  expect(Object.fromEntries(settings.get(nights)!)).toMatchObject({
    'cleanup.policy': 'compact',
    'min.compaction.lag.ms': weekMs,
    'delete.retention.ms': weekMs,
    'max.compaction.lag.ms': longMax,
    'segment.ms': longMax,
    'message.timestamp.after.max.ms': '86400000',
  });
  expect(Object.fromEntries(settings.get(rejected)!)).toMatchObject({
    'cleanup.policy': 'delete',
    'retention.ms': '-1',
    'max.message.bytes': '4194304',
  });
  for (const again of await ensureTopics(kafka.options))
    expect(again).toMatchObject({ state: 'as planned', differences: [] });
});

test('topics that are there are left as they are, each setting that harms is named, and what a broker refuses is said', async () => {
  await using kafka = new TestKafka();
  const settings = {
    'cleanup.policy': 'delete',
    'min.compaction.lag.ms': '1000000000',
    'message.timestamp.type': 'LogAppendTime',
    'retention.bytes': '1000000000',
    'max.message.bytes': '5000000',
  };
  await kafka.createTopics({ partitions: 2, settings });
  const reports = await ensureTopics({ ...kafka.options, partitions: 2 });
  const reportOf = (name: string) => reports.find(({ topic }) => topic === kafka.topicPrefix + name)!;
  expect(reportOf('metros')).toEqual({
    topic: `${kafka.topicPrefix}metros`,
    state: 'different',
    partitions: 2,
    differences: [
      { setting: 'partitions', value: '2', wanted: '1', harmful: false },
      { setting: 'cleanup.policy', value: 'delete', wanted: 'compact', harmful: true },
      { setting: 'delete.retention.ms', value: '86400000', wanted: '604800000', harmful: true },
      { setting: 'message.timestamp.type', value: 'LogAppendTime', wanted: 'CreateTime', harmful: true },
      { setting: 'segment.ms', value: '604800000', wanted: longMax, harmful: false },
      { setting: 'segment.bytes', value: '1073741824', wanted: '67108864', harmful: false },
      { setting: 'message.timestamp.after.max.ms', value: '3600000', wanted: '86400000', harmful: false },
    ],
  });
  expect(reportOf('rejected').differences).toEqual([
    { setting: 'retention.ms', value: '604800000', wanted: '-1', harmful: true },
    { setting: 'retention.bytes', value: '1000000000', wanted: '-1', harmful: true },
    // What is added to a bad record says where it was.
    { setting: 'max.message.bytes', value: '5000000', wanted: '5065536', harmful: true },
  ]);
  // Their number of partitions is as planned.
  expect(reportOf('nights').differences).toEqual(reportOf('metros').differences.slice(1));
  // By default they are compacted at once.
  await using bare = new TestKafka();
  await bare.createTopics();
  const lag = { setting: 'min.compaction.lag.ms', value: '0', wanted: '604800000', harmful: true };
  expect((await ensureTopics(bare.options))[0]!.differences).toContainEqual(lag);
  // This cluster has one broker.
  const refused = ensureTopics({ ...kafka.options, topicPrefix: freshTopicPrefix(), replicationFactor: 9 });
  await expect(refused).rejects.toThrow(/^Cannot create the topics \S+metros, .*: Replication-factor is invalid/);
});
