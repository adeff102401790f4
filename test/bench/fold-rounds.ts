import avro, { type Schema } from 'avsc';
import { kafkaLogRecord } from '../../infra/kafka/kafka-log-record.ts';
import type { FetchedRecord } from '../../infra/kafka/record-batch.ts';
import type { EncodedRecord } from '../../projector/ports/event-log.ts';
import { topicSchemas } from '../../schemas/avro/avro-types.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { singleObjectHeaderBytes } from '../../schemas/avro/single-object.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { defaultPartitions, murmur2Partition } from '../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { simulation } from '../../services/simulate/simulation.ts';
import type { SimulatedRecord } from '../../services/simulate/world.ts';
import { freshIntake } from './fresh-intake.ts';

/**
 * The fold's rounds, in a process of its own. Bare decoding is avsc with the plain schema, from the same bytes in
 * memory, each value dropped at once. Folding is all that happens to a record once its bytes are in memory: strict
 * decoding of key and value, the checks, the facts.
 */
const batchRecords = 1_000;
const sizes = { metros: 4, rides: 2_000, riders: 20_000, days: 60, seed: 1 };

export interface FoldRound {
  /** Records a second. */
  bare: number;
  fold: number;
}

interface Batch<Content> {
  topic: TopicName;
  partition: number;
  count: number;
  content: Content;
}

const plain = (schema: Schema): avro.Type => avro.Type.forSchema(structuredClone(schema), { wrapUnions: false });
const plainTypes = Object.fromEntries(topicNames.map((topic) => [topic, plain(topicSchemas[topic])])) as Record<
  TopicName,
  avro.Type
>;
function simulated(): SimulatedRecord[] {
  const made = simulation({ ...sizes, today: Math.floor(Date.now() / 86_400_000) });
  return [...made.initial()];
}

/** Batches of one partition each, as Kafka's producer chooses it, in the order in which their last records were published. */
function batches(records: readonly SimulatedRecord[]): Batch<SimulatedRecord[]>[] {
  const open = new Map<string, Batch<SimulatedRecord[]>>();
  const done: Batch<SimulatedRecord[]>[] = [];
  for (const record of records) {
    const { topic } = record;
    const partition = murmur2Partition(Buffer.from(record.key), defaultPartitions[topic]);
    const name = `${topic}/${partition}`;
    const batch = open.get(name) ?? { topic, partition, count: 0, content: [] };
    open.set(name, batch);
    batch.count = batch.content.push(record);
    if (batch.count < batchRecords) continue;
    done.push(batch);
    open.delete(name);
  }
  done.push(...open.values());
  return done;
}

function fetched({ topic, key, value, timestampMs }: SimulatedRecord, offset: number): FetchedRecord {
  const bytes = value && encodeValue(topic as 'metros', value as never);
  return { offset, timestampMs, key: Buffer.from(key), value: bytes, headers: [] };
}

const writers = new WriterSchemas();

/**
 * What was made last, of everything. V8 throws away the code it has compiled for objects of a shape once none of that
 * shape is left: each round, of both kinds, would begin interpreted, and count its compilation. A projector has one
 * Fold for its whole life, and always some record in hand.
 */
const held = new Map<string, unknown>();

/** As the Kafka adapter does it. */
function logRecord(topic: TopicName, fetched: FetchedRecord): EncodedRecord {
  const record = kafkaLogRecord(topic, 0, fetched, writers);
  if (typeof record === 'number' || typeof record.reader === 'string') {
    throw new Error('Cannot measure the fold: a record is undecodable');
  }
  return record;
}

const logs: Record<string, () => { records: number; bare(): void; fold(): Promise<void> }> = {
  mixed: () => messageLog(batches(simulated())),
  attendance: () => messageLog(batches(simulated().filter(({ topic }) => topic === 'attendance'))),
};

function messageLog(all: Batch<SimulatedRecord[]>[]) {
  const encodedBatches = all.map(({ content, ...batch }) => ({ ...batch, content: content.map(fetched) }));
  return {
    records: encodedBatches.reduce((sum, { count }) => sum + count, 0),
    bare() {
      for (const { topic, content } of encodedBatches) {
        const type = plainTypes[topic];
        let last: unknown;
        for (const { value } of content) if (value) last = type.decode(value, singleObjectHeaderBytes);
        held.set(`bare ${topic}`, last);
      }
    },
    async fold() {
      const made = freshIntake();
      held.set('fold', made);
      for (const { topic, partition, content } of encodedBatches) {
        const records = content.map((record) => logRecord(topic, record));
        const batch = { topic, partition, records, nextOffset: 0 };
        made.partitions.take(batch);
        await made.intake.take(batch);
        held.set(topic, records.at(-1));
      }
    },
  };
}

let log: ReturnType<(typeof logs)[string]> | null = null;

process.on('message', async (message: { log?: string; rounds?: number }) => {
  if (message.log !== undefined) {
    log = logs[message.log]!();
    process.send!({ records: log.records });
    return;
  }
  const rounds: FoldRound[] = [];
  const { records, bare, fold } = log!;
  const rate = async (work: () => unknown): Promise<number> => {
    globalThis.gc?.();
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return records / ((user + system) / 1e6);
  };
  for (let i = 0; i < message.rounds!; i++) rounds.push({ bare: await rate(bare), fold: await rate(fold) });
  process.send!(rounds);
});
process.on('beforeExit', () => held);
process.on('SIGTERM', () => process.exit());
