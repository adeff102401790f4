import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { kafkaRejectSink } from '../../../../infra/kafka/publishing/kafka-reject-sink.ts';
import { ensureTopics } from '../../../../infra/kafka/topics/ensure-topics.ts';
import { type KafkaBroker, startKafkaBroker } from '../../../../infra/local/kafka-broker.ts';
import { MemoryViewStore } from '../../../../infra/memory/memory-view-store.ts';
import type { Reject } from '../../../../projector/ports/event-log.ts';
import { TestKafka } from '../../../support/servers/kafka.ts';
import { cutTail } from '../../../support/servers/kafka-disk.ts';
import { readTopic } from '../../../support/servers/kafka-topic.ts';
import { startProjector } from '../../../support/stores/projector-run.ts';
import { rejectAt } from '../../../support/worlds/records.ts';

// The topic `rejected` loses what it held: it is made anew, or a broker loses its tail, or somebody deletes its head.

let broker: KafkaBroker;
beforeAll(async () => {
  broker = await startKafkaBroker();
});
afterAll(() => broker.stop());

const placesIn = async (kafka: TestKafka): Promise<string[]> =>
  (await readTopic(broker.brokers, `${kafka.topicPrefix}rejected`)).map(
    ({ headers }) => `${headers['ride-calendar.topic']}@${headers['ride-calendar.offset']}`,
  );

/** Ways to lose some of what `rejected` holds, or all. */
const losses: Record<string, (kafka: TestKafka) => Promise<void>> = {
  'made anew': (kafka) => kafka.makeAnew('rejected'),
  'without its tail': async (kafka) => {
    await broker.kill();
    const from = await cutTail(join(broker.dataFolder, `${kafka.topicPrefix}rejected-0`), 1);
    await broker.start();
    expect(from).not.toBeNull();
  },
  'without its head': (kafka) => kafka.deleteRecords('rejected', 2),
};

// docs/rules.md#rejected, #rejected-once
describe.each(Object.entries(losses))('`rejected` that is %s', (_, lose) => {
  test('has what is set aside from then on once, whoever does', async () => {
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

  test.each(['while it leads', 'between two starts'])(
    'is filled by a projector with each bad record that the log holds, once: lost %s',
    async (when) => {
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
      if (when === 'between two starts') await projector.stop();
      await lose(kafka);
      if (when === 'between two starts') projector = start();
      await holdsOnce(3);
      await bad(3, 5);
      await holdsOnce(5);
      expect(projector.running.projector.status().notes).toEqual([]);
      await projector.stop();
    },
    120_000,
  );
});
