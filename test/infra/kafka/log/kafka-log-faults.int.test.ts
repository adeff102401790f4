import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { kafkaPublisher } from '../../../../infra/kafka/publishing/kafka-publisher.ts';
import { kafkaRejectSink } from '../../../../infra/kafka/publishing/kafka-reject-sink.ts';
import { ensureTopics } from '../../../../infra/kafka/topics/ensure-topics.ts';
import { type KafkaBroker, startKafkaBroker } from '../../../../infra/local/kafka-broker.ts';
import { MemoryViewStore } from '../../../../infra/memory/memory-view-store.ts';
import { LogTruncatedError, type Reject } from '../../../../projector/ports/event-log.ts';
import { metroValue, positionAt, TestKafka } from '../../../support/servers/kafka.ts';
import { batchesIn, cutTail } from '../../../support/servers/kafka-disk.ts';
import { readTopic } from '../../../support/servers/kafka-topic.ts';
import { startProjector } from '../../../support/stores/projector-run.ts';
import { rejectAt } from '../../../support/worlds/records.ts';

// What a broker may do to a log: crash, lose its tail, or hold bytes that are no batch.

const soon = { timeout: 20_000, interval: 50 };

let broker: KafkaBroker;
beforeAll(async () => {
  broker = await startKafkaBroker();
});
afterAll(() => broker.stop());

const folderOf = (kafka: TestKafka, partition: number): string =>
  join(broker.dataFolder, `${kafka.topicPrefix}metros-${partition}`);
const logOf = (kafka: TestKafka, partition: number): string =>
  join(folderOf(kafka, partition), `${'0'.repeat(20)}.log`);

/** Overwrites some bytes of the first batch, as a bad disk does. */
async function spoil(path: string, at: number, bytes: Buffer): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, (await batchesIn(path))[0]!.start + at);
  await file.close();
}

test('a partition that loses its tail and grows again stops the follower, however far it grows', async () => {
  await using kafka = new TestKafka(broker.brokers);
  await kafka.createTopics();
  for (const key of ['aa', 'bb', 'cc']) await kafka.sendMetros([key]);
  const following = kafka.follow(kafka.eventLog({ checkEveryMs: 200 }), positionAt(1));
  await vi.waitFor(() => expect(following.keys).toEqual(['aa', 'bb', 'cc']), soon);
  // An unclean election, or a broker restored from a backup: the last two records are gone.
  await broker.kill();
  expect(await cutTail(folderOf(kafka, 0), 2)).toBe(1);
  await broker.start();
  await kafka.sendMetros(['dd', 'ee', 'ff', 'gg']);
  await expect(following.done).rejects.toThrow(LogTruncatedError);
  await expect(following.done).rejects.toThrow(/metros\/0@3: Kafka lost records that were read/);
  expect(following.keys).toEqual(['aa', 'bb', 'cc']);
  // From the start it is what the log holds now.
  const again = kafka.follow(kafka.eventLog(), positionAt(1));
  await vi.waitFor(() => expect(again.keys).toEqual(['aa', 'dd', 'ee', 'ff', 'gg']), soon);
}, 90_000);

test('a broker that crashes while records are sent and read: each arrives once and in order', async () => {
  await using kafka = new TestKafka(broker.brokers);
  await kafka.createTopics();
  const eventLog = kafka.eventLog({ checkEveryMs: 200 });
  const following = kafka.follow(eventLog, positionAt(1));
  const publisher = kafkaPublisher(kafka.options);
  const keys = Array.from({ length: 30 }, (_, i) => `m${i}`);
  for (const key of keys) {
    const sent = publisher.publish('metros', [{ key, value: metroValue(key), timestampMs: 1_600_000_000_000 }]);
    if (key === 'm10') {
      await broker.kill();
      const bounds = eventLog.bounds();
      await vi.waitFor(() => expect(kafka.log.lines.join()).toContain('Cannot read from Kafka'), soon);
      await broker.start();
      expect((await bounds).metros[0]!.low).toBe(0);
    }
    await sent;
  }
  await publisher.close();
  await vi.waitFor(() => expect(following.keys).toEqual(keys), { ...soon, timeout: 40_000 });
  expect(kafka.log.lines.join()).toContain('It could read from Kafka now: Kafka answers again');
}, 120_000);

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
  for (let i = 0; i < 20; i++) {
    await kafka.sendMetros([`other${i}`], { partition: 2 });
    await vi.waitFor(() => expect(following.position.metros).toEqual([0, 0, i + 1, 0]), soon);
  }
  await writeFile(path, good, { flag: 'r+' });
  await vi.waitFor(() => expect(following.position.metros).toEqual([0, 1, 20, 0]), soon);
}, 60_000);

// The topic `rejected` loses what it held: it is made anew, or a broker loses its tail, or somebody deletes its head.

const placesIn = async (kafka: TestKafka): Promise<string[]> =>
  (await readTopic(broker.brokers, `${kafka.topicPrefix}rejected`)).map(
    ({ headers }) => `${headers['ride-calendar.topic']}@${headers['ride-calendar.offset']}`,
  );

/** Ways to lose some of what `rejected` holds, or all. */
const losses: Record<string, (kafka: TestKafka) => Promise<void>> = {
  'made anew': (kafka) => kafka.makeAnew('rejected'),
  // A start reads all that it holds, however it was lost.
  'made anew between two starts': (kafka) => kafka.makeAnew('rejected'),
  'without its tail': async (kafka) => {
    await broker.kill();
    const from = await cutTail(join(broker.dataFolder, `${kafka.topicPrefix}rejected-0`), 1);
    await broker.start();
    expect(from).not.toBeNull();
  },
  'without its head': (kafka) => kafka.deleteRecords('rejected', 2),
};

// docs/rules.md#rejected, #rejected-once
describe.each(Object.entries(losses))('`rejected` that is %s', (how, lose) => {
  // Between two starts nobody sets aside.
  const whoever = how.endsWith('starts') ? [] : ['whoever does'];
  test.each(whoever)('has what is set aside from then on once, %s', async () => {
    await using kafka = new TestKafka(broker.brokers);
    await ensureTopics(kafka.options);
    const [one, other] = [kafkaRejectSink(kafka.options), kafkaRejectSink(kafka.options)];
    for (const offset of [1, 2, 3]) await one.publish([rejectAt(offset)]);
    await lose(kafka);
    // A standby has taken over meanwhile, and more comes than was lost.
    const fresh = [4, 5, 6, 7].map((offset) => rejectAt(offset));
    for (const each of fresh) await other.publish([each]);
    const all: Reject[] = [1, 2, 3].map((offset) => rejectAt(offset));
    await one.publish([...all, ...fresh]);
    await Promise.all([one.close(), other.close()]);
    expect((await placesIn(kafka)).toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7].map((offset) => `nights@${offset}`));
  });

  test('is filled by a projector with each bad record that the log holds, once', async () => {
    await using kafka = new TestKafka(broker.brokers);
    await ensureTopics(kafka.options);
    const start = () => {
      const sink = kafkaRejectSink(kafka.options);
      const running = startProjector(kafka.eventLog({ checkEveryMs: 500 }), new MemoryViewStore().writer(), sink);
      return { running, stop: () => running.stop().then(() => sink.close()) };
    };
    const bad = async (from: number, to: number) => {
      for (let i = from; i < to; i++)
        await kafka.sendRaw('metros', [{ key: `m${i}`, value: Buffer.from('bad') }], { partition: 0 });
    };
    const holdsOnce = async (count: number) =>
      vi.waitFor(
        async () =>
          expect((await placesIn(kafka)).toSorted()).toEqual(
            Array.from({ length: count }, (_, i) => `metros@${i}`).toSorted(),
          ),
        { timeout: 40_000, interval: 500 },
      );
    let projector = start();
    await bad(0, 3);
    await holdsOnce(3);
    if (how === 'made anew between two starts') await projector.stop();
    await lose(kafka);
    if (how === 'made anew between two starts') projector = start();
    await holdsOnce(3);
    await bad(3, 5);
    await holdsOnce(5);
    expect(projector.running.projector.status().notes).toEqual([]);
    await projector.stop();
  }, 120_000);
});
