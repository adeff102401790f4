import { setTimeout as sleep } from 'node:timers/promises';
import avro, { type Schema } from 'avsc';
import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import { readManifest } from '../../../infra/archive/format/archive-manifest.ts';
import { kafkaEventLog } from '../../../infra/kafka/log/kafka-event-log.ts';
import type { LogRecord } from '../../../projector/ports/decoded-record.ts';
import { topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { singleObjectHeader } from '../../../schemas/avro/single-object.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { runArchiveSave } from '../../../services/archive/archive-save.ts';
import { archiveSave } from '../../../services/archive/save-log.ts';
import { loadSettings } from '../../../services/settings/settings.ts';
import { heard } from '../../support/processes/heard.ts';
import { TestKafka } from '../../support/servers/kafka.ts';
import { checkArchive, readArchive, TestArchive } from '../../support/worlds/archive.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const signal = new AbortController().signal;

/** A schema of riders that has a field more than ours. */
const widerRiders = {
  ...(topicSchemas.riders as object),
  fields: [...(topicSchemas.riders as { fields: object[] }).fields, { name: 'shoe_size', type: 'double' }],
} as Schema;

// docs/rules.md#archived-record, #raw-values, #archive-manifest
test('archive save from Kafka keeps headers, in their order, and values whose writer has more fields than our schema, with its schema by fingerprint or id', async () => {
  await using kafka = new TestKafka();
  await using archive = await TestArchive.make();
  await kafka.createTopics();
  const schema = JSON.stringify(widerRiders);
  const writers = new WriterSchemas();
  writers.addKnown(schema);
  const type = avro.Type.forSchema(structuredClone(widerRiders));
  const wider = type.toBuffer({ ...sampleRecords.riders, rider: 'a', shoe_size: 38.5 });
  const named = singleObjectHeader(type);
  const values = [named, Buffer.from([0, 0, 0, 0, 42])].map((header) => Buffer.concat([header, wider]));
  const producer = kafka.client.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  const headers = { trace: [Buffer.from('1'), Buffer.from('2')], by: 'desk' };
  const messages = [
    { key: 'a', value: values[0]!, headers },
    { key: 'a', value: values[1]! },
    { key: 'b', value: null },
  ];
  await producer.send({ topic: `${kafka.topicPrefix}riders`, messages });
  await producer.disconnect();

  const schemas = { lookUp: async () => ({ schema, references: [] }) };
  const log = kafkaEventLog({ ...kafka.options, writers, schemas });
  await archiveSave(log, async () => {}, archive.dir, { signal, schemaOf: (bytes) => writers.named(bytes) });
  await log.close();
  const [first, second, last] = (await archive.read()).records as LogRecord[];
  const header = (key: string, text: string) => ({ key, value: Buffer.from(text) });
  expect(first!.headers).toEqual([header('trace', '1'), header('trace', '2'), header('by', 'desk')]);
  expect(first!.value).toMatchObject({ rider: 'a' });
  expect([first!.rawValue, second!.rawValue]).toEqual(values);
  expect(last).toMatchObject({ value: null, headers: [], rawValue: null });
  const fingerprint = named.toString('hex', 2);
  expect(readManifest(archive.dir)!.schemas).toEqual([
    { id: null, fingerprint, schema, references: [] },
    { id: 42, fingerprint, schema, references: [] },
  ]);
});

test('archive save from Kafka follows the log until it is told to end, and goes on later; topics that were made again are refused', async () => {
  await using archive = await TestArchive.make();
  await using kafka = new TestKafka();
  await kafka.createTopics({ settings: { 'min.compaction.lag.ms': '604800000' } });
  const settings = loadSettings({ ...kafka.env, LOG_LEVEL: 'error' });
  const save = (signal: AbortSignal, follow = false) =>
    heard((io) => runArchiveSave({ dir: archive.dir, json: true, follow }, settings, io), signal);
  await kafka.sendMetros(Array.from({ length: 500 }, (_, i) => `metro${i}`));
  const first = JSON.parse((await save(signal)).out[0]!);
  expect(first.exact_since).toEqual(expect.any(String));

  const stop = new AbortController();
  const following = save(stop.signal, true);
  await kafka.sendMetros(['bonn', 'ulm']);
  const inFiles = async () => (await readArchive(archive.dir, { prefix: kafka.topicPrefix })).records.length;
  await expect.poll(inFiles).toBe(502);
  stop.abort();
  const { code, out } = await following;
  expect([code, JSON.parse(out[0]!)]).toMatchObject([0, { records: 2, exact_since: first.exact_since }]);
  expect((await checkArchive(archive.dir)).code).toBe(0);

  const admin = await kafka.admin();
  await admin.deleteTopics({ topics: [...topicNames, 'rejected'].map((name) => kafka.topicPrefix + name) });
  await sleep(1_000);
  await kafka.createTopics();
  await kafka.sendMetros(['kiel']);
  await expect(save(signal)).rejects.toThrow('it is of another log, or the topics were deleted and made again since');
});
