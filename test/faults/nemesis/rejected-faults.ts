import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Admin } from '@platformatic/kafka';
import type { Random } from '../../../services/simulate/world/random.ts';
import { cutTail } from '../../support/servers/kafka-disk.ts';
import type { Arena, Fault } from './fault.ts';

/** What happens to the topic of rejected records, while bad records come. */

const partition = 0;
const topicOf = ({ kafkaEnv }: Arena): string => `${kafkaEnv.KAFKA_TOPIC_PREFIX}rejected`;

const rejected = (name: string, run: (arena: Arena, random: Random) => Promise<void>): Fault => ({
  name: `rejected ${name}`,
  ready: (arena, random) => ({
    targets: ['kafka'],
    run: async () => {
      // One that is set aside before, and one that waits.
      await arena.publisher.publishBad('title1');
      await run(arena, random);
      await arena.publisher.publishBad('title1');
    },
  }),
});

async function withAdmin<T>({ broker }: Arena, act: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({ clientId: 'nemesis', bootstrapBrokers: broker.brokers.split(',') });
  return act(admin).finally(() => admin.close());
}

const isLost = (arena: Arena, from: number): void =>
  arena.history.add({ type: 'lost', topic: 'rejected', partition, from });

async function makeAnew(arena: Arena, random: Random): Promise<void> {
  await withAdmin(arena, (admin) => admin.deleteTopics({ topics: [topicOf(arena)] }));
  isLost(arena, 0);
  await sleep(random.int(0, 4_000));
  const made = await arena.processes.run(['topics'], arena.kafkaEnv);
  if (made.code !== 0) throw new Error(made.err);
}

async function loseTail(arena: Arena, random: Random): Promise<void> {
  const { broker } = arena;
  await sleep(random.int(0, 2_000));
  await broker.kill();
  const from = await cutTail(join(broker.dataFolder, `${topicOf(arena)}-${partition}`), random.int(1, 8));
  if (from !== null) isLost(arena, from);
  await broker.start();
}

/** It takes no record: as on a full disk, or where its records may not be so large. */
async function fill(arena: Arena, random: Random): Promise<void> {
  const set = (value: string) =>
    withAdmin(arena, (admin) =>
      admin.incrementalAlterConfigs({
        resources: [
          {
            resourceType: topicResource,
            resourceName: topicOf(arena),
            configs: [{ name: 'max.message.bytes', configOperation: setOperation, value }],
          },
        ],
      }),
    );
  await set('1');
  await arena.publisher.publishBad('title1');
  await sleep(random.int(3_000, 12_000));
  await set(String(4 << 20));
}

const topicResource = 2;
const setOperation = 0;
const slowBytesPerSecond = 2_000;

/** Whoever publishes as the service does is throttled. */
async function slow(arena: Arena, random: Random): Promise<void> {
  const entities = [{ entityType: 'client-id' as const, entityName: 'ride-calendar' }];
  const key = 'producer_byte_rate' as const;
  const throttle = (op: { value: number; remove: false } | { remove: true }) =>
    withAdmin(arena, (admin) => admin.alterClientQuotas({ entries: [{ entities, ops: [{ key, ...op }] }] }));
  await throttle({ value: slowBytesPerSecond, remove: false });
  await arena.publisher.publishBad('title1');
  await sleep(random.int(3_000, 8_000));
  await throttle({ remove: true });
}

export const rejectedFaults: readonly Fault[] = [
  rejected('made anew', makeAnew),
  rejected('loses its tail', loseTail),
  rejected('full', fill),
  rejected('slow', slow),
];
