import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { murmur2Partition } from '../../../schemas/events/partitioner.ts';
import type { Random } from '../../../services/simulate/world/random.ts';
import { latestRecords } from '../../reference/facts.ts';
import { kafkaClient } from '../../support/servers/kafka.ts';
import { cutTail } from '../../support/servers/kafka-disk.ts';
import { type Arena, type Fault, freeze } from './fault.ts';

/** What happens to Kafka's broker, to the log itself, and what producers do to it. */

/** `also`: further targets, of faults that cannot overlap with this one. */
const kafka = (
  name: string,
  run: (arena: Arena, random: Random) => Promise<void>,
  also: readonly string[] = [],
): Fault => ({
  name,
  ready: (arena, random) => ({ targets: ['kafka', ...also], run: () => run(arena, random) }),
});

const ridesPartitions = 4;
const partitionOf = (ride: string): number => murmur2Partition(Buffer.from(ride), ridesPartitions);
/** It gets all that is no plain record: markers of transactions, and bad records, which are not to be cut off. */
const oddPartition = partitionOf('title1');
const cutPartition = partitionOf(['title2', 'title3', 'comes', 'mine'].find((id) => partitionOf(id) !== oddPartition)!);

/** The last records of a partition are lost, and others take their place. */
async function loseTail({ publisher, broker, history, kafkaEnv }: Arena, random: Random): Promise<void> {
  await publisher.holdWhile(async () => {
    // What was read before it is lost.
    await sleep(random.int(0, 2_000));
    await broker.kill();
    const topic = 'rides';
    const folder = join(broker.dataFolder, `${kafkaEnv.KAFKA_TOPIC_PREFIX}${topic}-${cutPartition}`);
    const from = await cutTail(folder, random.int(1, 8));
    if (from !== null) history.add({ type: 'lost', topic, partition: cutPartition, from });
    await broker.start();
  });
}

async function withAdmin<T>({ broker }: Arena, act: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafkaClient(broker.brokers).admin();
  await admin.connect();
  return act(admin).finally(() => admin.disconnect());
}

/** As docs/tasks.md has it: made again with `topics`, upstream publishes its entities again, projectors start again. */
async function makeTopicAnew(arena: Arena, random: Random): Promise<void> {
  const { projectors, history, processes, kafkaEnv, publisher, portland } = arena;
  const topic = 'districts';
  const [one, other] = projectors;
  await one!.mayEndWhile(() =>
    other!.mayEndWhile(async () => {
      await withAdmin(arena, (admin) => admin.deleteTopics({ topics: [kafkaEnv.KAFKA_TOPIC_PREFIX + topic] }));
      history.add({ type: 'lost', topic, partition: 0, from: 0 });
      await sleep(random.int(0, 4_000));
      const made = await processes.run(['topics'], kafkaEnv);
      if (made.code !== 0) throw new Error(made.err);
      for (const [key, value] of latestRecords(portland.records)[topic]) await publisher.publish(topic, key, value);
      const ended = () => projectors.every(({ starts }, i) => starts > before[i]!);
      const before = projectors.map(({ starts }) => starts);
      for (const end = performance.now() + 20_000; !ended() && performance.now() < end; ) await sleep(200);
      for (const projector of projectors) await projector.ready();
    }),
  );
}

const compactAtOnce = {
  'min.compaction.lag.ms': '0',
  'max.compaction.lag.ms': '1',
  'min.cleanable.dirty.ratio': '0.001',
  'segment.ms': '100',
};

/** Segments roll, and superseded records go away, while both projectors fold the log. */
async function compact(arena: Arena): Promise<void> {
  const { kafkaEnv, projectors } = arena;
  await withAdmin(arena, async (admin) => {
    const resources = ['rides', 'nights', 'attendance'].map((topic) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name: kafkaEnv.KAFKA_TOPIC_PREFIX + topic,
    }));
    const described = await admin.describeConfigs({ resources, includeSynonyms: false });
    const asPlanned = described.resources.map(({ resourceName: name, configEntries }) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      // 1: set for this topic.
      configEntries: configEntries
        .filter(({ configSource }) => Number(configSource) === 1)
        .map(({ configName, configValue }) => ({ name: configName, value: configValue })),
    }));
    const compacting = asPlanned.map((each) => ({
      ...each,
      configEntries: Object.entries({
        ...Object.fromEntries(each.configEntries.map(({ name, value }) => [name, value])),
        ...compactAtOnce,
      }).map(([name, value]) => ({ name, value })),
    }));
    await admin.alterConfigs({ validateOnly: false, resources: compacting });
    for (const projector of projectors) await projector.end('kill');
    await sleep(500);
    for (const projector of projectors) await projector.start();
    for (const projector of projectors) await projector.ready();
    await admin.alterConfigs({ validateOnly: false, resources: asPlanned });
  });
}

export const kafkaFaults: readonly Fault[] = [
  kafka('kafka paused', ({ broker }, random) => freeze([broker], random.int(1_000, 8_000))),
  kafka('kafka killed and started', async ({ broker }, random) => {
    await broker.kill();
    await sleep(random.int(0, 3_000));
    await broker.start();
  }),
  // Another log is another archive: a save that follows refuses it.
  kafka('log loses its tail', loseTail, ['archive']),
  kafka('topic made anew', makeTopicAnew, ['archive']),
  {
    name: 'log compacted during a start',
    ready: (arena) => ({
      targets: ['kafka', ...arena.projectors.map(({ name }) => name)],
      run: () => arena.publisher.withoutBadWhile(() => compact(arena)),
    }),
  },
  kafka('transactions aborted', async ({ publisher }, random) => {
    for (let again = 0; again < 3; again++) await publisher.abortTransaction(`aborted-${again}`, random.int(0, 2_000));
  }),
  kafka('batch that unpacks without end', ({ publisher }) => publisher.publishBomb(oddPartition)),
];
