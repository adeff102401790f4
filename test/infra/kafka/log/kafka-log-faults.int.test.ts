import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type KafkaBroker, startKafkaBroker } from '../../../../infra/local/kafka-broker.ts';
import { LogTruncatedError } from '../../../../projector/ports/event-log.ts';
import { positionAt, TestKafka } from '../../../support/servers/kafka.ts';
import { batchesIn, cutTail } from '../../../support/servers/kafka-disk.ts';

// What a broker's disk may do to a log: lose its tail, or hold bytes that are no batch.

const soon = { timeout: 20_000, interval: 50 };

let broker: KafkaBroker;
beforeAll(async () => {
  broker = await startKafkaBroker();
});
afterAll(() => broker.stop());

const folderOf = (kafka: TestKafka, partition = 0): string =>
  join(broker.dataFolder, `${kafka.topicPrefix}metros-${partition}`);
const logOf = (kafka: TestKafka, partition = 0): string => join(folderOf(kafka, partition), `${'0'.repeat(20)}.log`);

/** Overwrites some bytes of a batch, as a bad disk does. */
async function spoil(path: string, batch: number, at: number, bytes: Buffer): Promise<void> {
  const { start } = (await batchesIn(path))[batch]!;
  const file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, start + at);
  await file.close();
}

describe('a partition that loses its tail', () => {
  test('and grows again stops the follower, however far it grows', async () => {
    await using kafka = new TestKafka(broker.brokers);
    await kafka.createTopics();
    await kafka.sendMetros(['aa']);
    await kafka.sendMetros(['bb']);
    await kafka.sendMetros(['cc']);
    const following = kafka.follow(kafka.eventLog({ checkEveryMs: 200 }), positionAt(1));
    await vi.waitFor(() => expect(following.metros).toEqual(['aa', 'bb', 'cc']), soon);
    // An unclean election, or a broker restored from a backup: the last two records are gone.
    await broker.kill();
    expect(await cutTail(folderOf(kafka), 2)).toBe(1);
    await broker.start();
    await kafka.sendMetros(['dd', 'ee', 'ff', 'gg']);
    await expect(following.done).rejects.toThrow(LogTruncatedError);
    await expect(following.done).rejects.toThrow(/metros\/0@3: Kafka lost records that were read/);
    expect(following.metros).toEqual(['aa', 'bb', 'cc']);
    // From the start it is what the log holds now.
    const again = kafka.follow(kafka.eventLog(), positionAt(1));
    await vi.waitFor(() => expect(again.metros).toEqual(['aa', 'dd', 'ee', 'ff', 'gg']), soon);
  }, 90_000);

  test('a new leader without a loss stops nobody, and nothing comes twice', async () => {
    await using kafka = new TestKafka(broker.brokers);
    await kafka.createTopics();
    await kafka.sendMetros(['aa', 'bb']);
    const eventLog = kafka.eventLog({ checkEveryMs: 200 });
    const following = kafka.follow(eventLog, positionAt(1));
    await vi.waitFor(() => expect(following.metros).toEqual(['aa', 'bb']), soon);
    for (const key of ['cc', 'dd']) {
      await broker.kill();
      const bounds = eventLog.bounds();
      await vi.waitFor(() => expect(kafka.log.lines.join()).toContain('Cannot read from Kafka'), soon);
      await broker.start();
      await kafka.sendMetros([key]);
      expect((await bounds).metros[0]!.low).toBe(0);
    }
    await vi.waitFor(() => expect(following.metros).toEqual(['aa', 'bb', 'cc', 'dd']), { ...soon, timeout: 40_000 });
    expect(kafka.log.lines.join()).toContain('over, Kafka answers again');
    await following.stop();
  }, 120_000);
});

describe('a partition whose bytes are spoilt', () => {
  /** Twenty records of the other partition, each sent when the one before has come. */
  const expectOthersFlow = async (kafka: TestKafka) => {
    const following = kafka.follow(kafka.eventLog(), positionAt(2));
    await vi.waitFor(() => expect(kafka.log.lines.join()).toMatch(/Cannot read/), soon);
    for (let i = 0; i < 20; i++) {
      await kafka.sendMetros([`other${i}`], { partition: 1 });
      await vi.waitFor(() => expect(following.position.metros[1]).toBe(i + 1), soon);
    }
    expect(following.position.metros[0]).toBe(0);
  };

  test('so that the broker refuses it leaves the others of its broker flowing', async () => {
    await using kafka = new TestKafka(broker.brokers);
    await kafka.createTopics({ partitions: 2 });
    await kafka.sendMetros(['aa']);
    // A batch of no length.
    await spoil(logOf(kafka), 0, 8, Buffer.alloc(4));
    await expectOthersFlow(kafka);
  }, 60_000);

  test('so that nobody can read it leaves the others of its broker flowing, and goes on when it is mended', async () => {
    await using kafka = new TestKafka(broker.brokers);
    await kafka.createTopics({ partitions: 2 });
    await kafka.sendMetros(['aa'], { compression: kafkajs.CompressionTypes.GZIP });
    const path = logOf(kafka);
    const good = await readFile(path);
    // The records of a batch begin behind its header of 61 bytes.
    await spoil(path, 0, 61, Buffer.alloc(4));
    await expectOthersFlow(kafka);
    await writeFile(path, good, { flag: 'r+' });
    const following = kafka.follow(kafka.eventLog(), positionAt(2));
    await vi.waitFor(() => expect(following.position.metros[0]).toBe(1), soon);
  }, 60_000);
});
