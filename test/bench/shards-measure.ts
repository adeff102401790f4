import { kafkaLogRecord } from '../../infra/kafka/kafka-log-record.ts';
import type { EncodedRecord } from '../../projector/ports/event-log.ts';
import { encodeValue } from '../../schemas/avro/codec.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { defaultPartitions, murmur2Partition } from '../../schemas/events/partitioner.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { dayText } from '../../schemas/views/days.ts';
import { tagsOfShard } from '../../schemas/views/view-keys.ts';
import { freshIntake } from './fresh-intake.ts';
import { bytesHeld, randomFrom } from './measuring.ts';

/** Folds a log as one shard does, and tells what its facts take: in a process of its own, so that nothing else counts. */
export interface ShardMeasured {
  bytes: number;
  /** Of taking in all records: decoding and checking them, and the facts. */
  cpuSeconds: number;
  records: number;
}

export interface ShardSizes {
  riders: number;
  relations: number;
  attendances: number;
}

interface Change {
  topic: TopicName;
  key: string;
  value: AnyRecord;
}

const batchRecords = 1_000;
const stamps = { revision: 1, changed_at: 1 };
const idOf = (rider: number): string => `u_${rider.toString(36).padStart(7, '0')}`;

/** Most riders follow a few, some follow hundreds; the known ones are followed by thousands. */
function* log({ riders, relations, attendances }: ShardSizes): Generator<Change> {
  const random = randomFrom(1);
  for (let i = 0; i < riders; i++) {
    const value = { rider: idOf(i), handle: `rider${i}`, name: `Rider No. ${i}`, ...stamps };
    yield { topic: 'riders', key: idOf(i), value };
  }
  for (let i = 0; i < relations; i++) {
    const rider = Math.floor(random() ** 2 * riders);
    const other = Math.floor(random() ** 3 * riders);
    if (rider === other) continue;
    const bits = { follows: true, close: random() < 0.1, flagged: false, blocked: random() < 0.01 };
    const value = { rider: idOf(rider), other: idOf(other), ...bits, ...stamps };
    yield { topic: 'relations', key: `${idOf(rider)}/${idOf(other)}`, value };
  }
  for (let i = 0; i < attendances; i++) {
    const rider = idOf(Math.floor(random() ** 2 * riders));
    const night = Math.floor(random() ** 1.5 * (attendances / 25));
    const day = 20_000 + (night % 400);
    const ride = `ride${night % (attendances / 250)}`;
    const value = { ride, day, rider, response: 'GOING' as const, saved: false, ...stamps };
    yield { topic: 'attendance', key: `${ride}/${dayText(day)}/${rider}`, value };
  }
}

const writers = new WriterSchemas();
let offset = 0;

function encoded({ topic, key, value }: Change): EncodedRecord {
  const partition = murmur2Partition(Buffer.from(key), defaultPartitions[topic]);
  const bytes = encodeValue(topic as 'riders', value as never);
  const fetched = { offset: offset++, timestampMs: 0, key: Buffer.from(key), value: bytes, headers: [] };
  return kafkaLogRecord(topic, partition, fetched, writers) as EncodedRecord;
}

/** What is measured must not be collected, though nothing reads it any more. */
let kept: unknown = null;

async function measured(index: number, count: number, sizes: ShardSizes): Promise<ShardMeasured> {
  const before = bytesHeld();
  const made = freshIntake(tagsOfShard(index, count));
  kept = made;
  let [cpu, records] = [0, 0];
  const open = new Map<string, EncodedRecord[]>();
  const take = async (batch: EncodedRecord[]): Promise<void> => {
    const { topic, partition } = batch[0]!;
    const start = process.cpuUsage();
    made.partitions.take({ topic, partition, records: batch, nextOffset: 0 });
    await made.intake.take({ topic, partition, records: batch, nextOffset: 0 });
    const { user, system } = process.cpuUsage(start);
    cpu += user + system;
    records += batch.length;
  };
  for (const change of log(sizes)) {
    const record = encoded(change);
    const name = `${record.topic}/${record.partition}`;
    const batch = open.get(name) ?? [];
    open.set(name, batch);
    if (batch.push(record) < batchRecords) continue;
    open.delete(name);
    await take(batch);
  }
  for (const batch of open.values()) await take(batch);
  open.clear();
  return { bytes: bytesHeld() - before, cpuSeconds: cpu / 1e6, records };
}

process.on('message', async ({ index, count, sizes }: { index: number; count: number; sizes: ShardSizes }) => {
  process.send!(await measured(index, count, sizes));
});
process.on('beforeExit', () => kept);
process.on('SIGTERM', () => process.exit());
