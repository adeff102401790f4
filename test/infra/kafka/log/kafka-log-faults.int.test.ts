import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { kafkaPublisher } from '../../../../infra/kafka/publishing/kafka-publisher.ts';
import { kafkaRejectSink } from '../../../../infra/kafka/publishing/kafka-reject-sink.ts';
import { ensureTopics } from '../../../../infra/kafka/topics/ensure-topics.ts';
import { type KafkaBroker, startKafkaBroker } from '../../../../infra/local/kafka-broker.ts';
import { MemoryViewStore } from '../../../../infra/memory/memory-view-store.ts';
import { LogTruncatedError } from '../../../../projector/ports/event-log.ts';
import { metroValue, positionAt, TestKafka } from '../../../support/servers/kafka.ts';
import { batchesIn, cutTail } from '../../../support/servers/kafka-disk.ts';
import { readTopic } from '../../../support/servers/kafka-topic.ts';
import { startProjector } from '../../../support/stores/projector-run.ts';

// What a broker may do to a log: crash, lose its tail, or hold bytes that are no batch.

const soon = { timeout: 60_000, interval: 50 };

let broker: KafkaBroker;
beforeAll(async () => {
  broker = await startKafkaBroker();
});
afterAll(() => broker.stop());

const folderOf = (kafka: TestKafka, topic: string, partition = 0): string =>
  join(broker.dataFolder, `${kafka.topicPrefix}${topic}-${partition}`);
const logOf = (kafka: TestKafka, partition: number): string =>
  join(folderOf(kafka, 'metros', partition), `${'0'.repeat(20)}.log`);

/** Overwrites some bytes of the first batch, as a bad disk does. */
async function spoil(path: string, at: number, bytes: Buffer): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, (await batchesIn(path))[0]!.start + at);
  await file.close();
}

test('a broker that crashes: what is sent and read meanwhile arrives once and in order, and a partition that lost its tail stops its follower', async () => {
  await using kafka = new TestKafka(broker.brokers);
  await using losing = new TestKafka(broker.brokers);
  for (const each of [kafka, losing]) await each.createTopics();
  for (const key of ['aa', 'bb', 'cc']) await losing.sendMetros([key]);
  const behind = losing.follow(losing.eventLog({ checkEveryMs: 200 }), positionAt(1));
  await vi.waitFor(() => expect(behind.keys).toEqual(['aa', 'bb', 'cc']), soon);
  const eventLog = kafka.eventLog({ checkEveryMs: 200 });
  const following = kafka.follow(eventLog, positionAt(1));
  const publisher = kafkaPublisher(kafka.options);
  const keys = Array.from({ length: 30 }, (_, i) => `m${i}`);
  for (const key of keys) {
    const sent = publisher.publish('metros', [{ key, value: metroValue(key), timestampMs: 1_600_000_000_000 }]);
    if (key === 'm10') {
      await broker.kill();
      // An unclean election, or a broker restored from a backup: the last two records are gone.
      expect(await cutTail(folderOf(losing, 'metros'), 2)).toBe(1);
      const bounds = eventLog.bounds();
      await vi.waitFor(() => expect(kafka.log.lines.join()).toContain('Cannot read from Kafka'), soon);
      await broker.start();
      // It grows beyond what it was.
      await losing.sendMetros(['dd', 'ee', 'ff', 'gg']);
      expect((await bounds).metros[0]!.low).toBe(0);
    }
    await sent;
  }
  await publisher.close();
  await vi.waitFor(() => expect(following.keys).toEqual(keys), { ...soon, timeout: 60_000 });
  expect(kafka.log.lines.join()).toContain('It could read from Kafka now: Kafka answers again');
  await expect(behind.done).rejects.toThrow(LogTruncatedError);
  await expect(behind.done).rejects.toThrow(/metros\/0@3: Kafka lost records that were read/);
  expect(behind.keys).toEqual(['aa', 'bb', 'cc']);
});

test('partitions that cannot be read leave the others of their broker flowing, share a line where they fail alike, and go on when mended', async () => {
  await using kafka = new TestKafka(broker.brokers);
  await kafka.createTopics({ partitions: 4 });
  await kafka.sendMetros(['refused']);
  await kafka.sendMetros(['refused, too'], { partition: 3 });
  await kafka.sendMetros(['unreadable'], { partition: 1, compression: kafkajs.CompressionTypes.GZIP });
  const path = logOf(kafka, 1);
  const good = await readFile(path);
  // The broker refuses a batch of no length. Nobody can unpack one whose records, behind 61 bytes, do not begin.
  for (const partition of [0, 3]) await spoil(logOf(kafka, partition), 8, Buffer.alloc(4));
  await spoil(path, 61, Buffer.alloc(4));
  const following = kafka.follow(kafka.eventLog(), positionAt(4));
  for (const which of ['[03] and 1 other partition', '1'])
    await vi.waitFor(
      () => expect(kafka.log.lines.join('\n')).toMatch(new RegExp(`${kafka.topicPrefix}metros/${which} from Kafka`)),
      soon,
    );
  for (let i = 0; i < 5; i++) {
    await kafka.sendMetros([`other${i}`], { partition: 2 });
    await vi.waitFor(() => expect(following.position.metros).toEqual([0, 0, i + 1, 0]), soon);
  }
  await writeFile(path, good, { flag: 'r+' });
  await vi.waitFor(() => expect(following.position.metros).toEqual([0, 1, 5, 0]), soon);
}, 60_000);

/** Ways to lose some of what the topic `rejected` holds, or all. */
const losses: Record<string, (kafka: TestKafka) => Promise<void>> = {
  'it is made anew': (kafka) => kafka.makeAnew('rejected'),
  'it is without its tail': async (kafka) => {
    await broker.kill();
    expect(await cutTail(folderOf(kafka, 'rejected'), 1)).not.toBeNull();
    await broker.start();
  },
  'it is without its head': (kafka) => kafka.deleteRecords('rejected', 2),
  // A start reads all that it holds, however it was lost.
  'it is made anew between two starts': (kafka) => kafka.makeAnew('rejected'),
};

// docs/rules.md#rejected
test('each bad record that the log holds is in `rejected` once, whatever that has lost, while a projector leads or before it began', async () => {
  await using kafka = new TestKafka(broker.brokers);
  await ensureTopics(kafka.options);
  const start = () => {
    const sink = kafkaRejectSink(kafka.options);
    const { projector, stop } = startProjector(
      kafka.eventLog({ checkEveryMs: 500 }),
      new MemoryViewStore().writer(),
      sink,
    );
    return { projector, stop: () => stop().then(() => sink.close()) };
  };
  let running = start();
  const wanted: string[] = [];
  const holdsEachOnce = (how: string) =>
    vi.waitFor(
      async () => {
        const records = await readTopic(broker.brokers, `${kafka.topicPrefix}rejected`);
        const places = records.map(({ headers }) => headers['ride-calendar.offset']);
        expect(places.toSorted(), how).toEqual(wanted);
      },
      { timeout: 40_000, interval: 500 },
    );
  const send = async () => {
    await kafka.sendRaw('metros', [{ key: 'm', value: Buffer.from('bad') }]);
    wanted.push(String(wanted.length));
  };
  for (let i = 0; i < 3; i++) await send();
  await holdsEachOnce('at first');
  for (const [how, lose] of Object.entries(losses)) {
    const whileStopped = how.endsWith('starts');
    if (whileStopped) await running.stop();
    await lose(kafka);
    if (whileStopped) running = start();
    await holdsEachOnce(how);
    await send();
    await holdsEachOnce(how);
  }
  expect(running.projector.status().notes).toEqual([]);
  await running.stop();
});
