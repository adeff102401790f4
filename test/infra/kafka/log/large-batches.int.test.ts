import { Producer } from '@platformatic/kafka';
import { expect, test } from 'vitest';
import { kafkaRejectSink } from '../../../../infra/kafka/publishing/kafka-reject-sink.ts';
import { MemoryViewStore } from '../../../../infra/memory/memory-view-store.ts';
import { runCli } from '../../../../services/command-line.ts';
import { heard } from '../../../support/processes/heard.ts';
import { TestKafka } from '../../../support/servers/kafka.ts';
import { startProjector } from '../../../support/stores/projector-run.ts';
import { TestArchive } from '../../../support/worlds/archive.ts';

/** docs/rules.md#bad-batches */
test('a batch that unpacks to more than is allowed is set aside by a projector, saved in an archive, and named where it cannot be resubmitted', async () => {
  await using kafka = new TestKafka();
  await kafka.createTopics({ settings: { 'cleanup.policy': 'delete', 'max.message.bytes': String(8 << 20) } });
  const producer = new Producer({ clientId: 'bombs', bootstrapBrokers: kafka.connection.brokers });
  const topic = `${kafka.topicPrefix}metros`;
  // Two records, of which each would do.
  const value = Buffer.alloc(33 << 20);
  const messages = ['a', 'b'].map((key) => ({ topic, partition: 0, key: Buffer.from(key), value }));
  await producer.send({ messages, compression: 'lz4' });
  await producer.close();
  await kafka.sendMetros(['portland']);

  await using archive = await TestArchive.make();
  const env = { KAFKA_BROKERS: kafka.connection.brokers.join(','), KAFKA_TOPIC_PREFIX: kafka.topicPrefix };
  const run = (...args: string[]) => heard((io) => runCli(args, io, { ...env, LOG_LEVEL: 'silent' }));
  expect(await run('archive', 'save', archive.dir)).toMatchObject({ code: 0 });
  expect(await run('archive', 'check', archive.dir)).toMatchObject({ code: 0 });
  const listed = await run('rejected', 'list', '--archive', archive.dir, '--json');
  expect(listed.out.map((line) => JSON.parse(line).offset)).toEqual([0]);

  const sink = kafkaRejectSink(kafka.options);
  const running = startProjector(kafka.eventLog(), new MemoryViewStore().writer(), sink);
  const setAside = async () =>
    (await run('rejected', 'list', '--json')).out.map((line) => JSON.parse(line).copied as boolean);
  await expect.poll(setAside).toEqual([true]);
  const { code, out } = await run('rejected', 'resubmit', '--all', '--json');
  expect({ code, out: out.map((line) => JSON.parse(line)) }).toEqual({
    code: 1,
    out: [
      {
        place: 'metros/0@0',
        now: null,
        note: 'it stands for all records up to offset 1, in one batch (codec lz4): have its producer send them again, in smaller batches, or with smaller values or fewer headers',
      },
    ],
  });
  await running.stop();
  await sink.close();
});
