import avro, { type Schema } from 'avsc';
import kafkajs from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { kafkaEventLog } from '../../../infra/kafka/kafka-event-log.ts';
import type { LogRecord } from '../../../projector/ports/event-log.ts';
import { topicSchemas } from '../../../schemas/avro/avro-types.ts';
import { singleObjectHeader } from '../../../schemas/avro/single-object.ts';
import { WriterSchemas } from '../../../schemas/avro/writer-schemas.ts';
import { archiveSave } from '../../../services/wiring/archive-save.ts';
import { TestArchive } from '../../support/archive.ts';
import { TestKafka } from '../../support/kafka.ts';
import { sampleRecords } from '../../support/records.ts';

const signal = new AbortController().signal;

/** A schema of riders that has a field more than ours. */
const widerRiders = {
  ...(topicSchemas.riders as object),
  fields: [...(topicSchemas.riders as { fields: object[] }).fields, { name: 'shoe_size', type: 'double' }],
} as unknown as Schema;

describe('archive save from Kafka', () => {
  test('keeps headers, in their order, and values whose writer has more fields than our schema', async () => {
    await using kafka = new TestKafka();
    await using archive = await TestArchive.make();
    await kafka.createTopics();
    const writers = new WriterSchemas();
    writers.addKnown(JSON.stringify(widerRiders));
    const type = avro.Type.forSchema(structuredClone(widerRiders));
    const wider = type.toBuffer({ ...sampleRecords.riders, rider: 'a', shoe_size: 38.5 });
    const value = Buffer.concat([singleObjectHeader(type), wider]);
    const producer = kafka.client.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
    await producer.connect();
    await producer.send({
      topic: `${kafka.topicPrefix}riders`,
      messages: [
        { key: 'a', value, headers: { trace: [Buffer.from('1'), Buffer.from('2')], by: 'desk' } },
        { key: 'b', value: null },
      ],
    });
    await producer.disconnect();

    const log = kafkaEventLog({ ...kafka.options, writers, registry: null });
    await archiveSave(log, [], archive.dir, { signal });
    await log.close();
    const [first, second] = (await archive.read()).records as LogRecord[];
    const header = (key: string, text: string) => ({ key, value: Buffer.from(text) });
    expect(first!.headers).toEqual([header('trace', '1'), header('trace', '2'), header('by', 'desk')]);
    expect(first!.value).toMatchObject({ rider: 'a' });
    expect(first!.rawValue).toEqual(value);
    expect(second).toMatchObject({ value: null, headers: [], rawValue: null });
  });
});
