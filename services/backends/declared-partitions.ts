import { followToEnds } from '../../projector/intake/follow-to-ends.ts';
import { MisplacedRecords, misplacedFix } from '../../projector/intake/misplaced-records.ts';
import type { EncodedRecord, EventLog, LogBounds } from '../../projector/ports/event-log.ts';
import { type Partitioners, partitionFor } from '../../schemas/events/partitioner.ts';
import { RecordKey } from '../../schemas/events/record-keys.ts';
import { byTopic, type TopicName } from '../../schemas/events/records.ts';
import { UsageError } from '../cli/io.ts';

/** The partition of a key: that of the declared partitioner. */
export type PartitionOf = (topic: TopicName, key: Buffer) => number;

/** How many well-formed keys of each partition are looked at. */
const lookedAt = 1_000;

/**
 * Where a command that publishes to these topics of Kafka puts records (docs/rules.md#one-partition-per-key). It first looks
 * at what the topics hold: the last 1,000 well-formed keys of each partition. Throws UsageError if the declared partitioner
 * is not known, or misplaces one of them.
 */
export async function declaredPartitions(
  command: string,
  topics: readonly TopicName[],
  { log, partitioners, signal }: { log: EventLog; partitioners: Partitioners; signal: AbortSignal },
): Promise<PartitionOf> {
  const bounds = await log.bounds();
  const partitions = byTopic((topic) => bounds[topic].length);
  assertDeclared(command, topics, partitioners, partitions);
  const misplaced = new MisplacedRecords(partitioners);
  const divided = topics.filter((topic) => partitions[topic] > 1);
  for (const one of await lastKeys(log, divided, bounds, signal)) misplaced.take(one, partitions[one.topic]);
  if (misplaced.found.size > 0)
    throw new UsageError(`Cannot run ${command}: ${misplaced.lines.join('; ')}; ${misplacedFix}`);
  return (topic, key) => partitionFor(partitioners[topic], key, partitions[topic])!;
}

/** Throws UsageError if the declared partitioner of a topic with several partitions is `other`. */
export function assertDeclared(
  command: string,
  topics: readonly TopicName[],
  partitioners: Partitioners,
  partitions: Readonly<Record<TopicName, number>>,
): void {
  const unknown = topics.filter((topic) => partitioners[topic] === 'other' && partitions[topic] > 1);
  if (unknown.length === 0) return;
  throw new UsageError(
    `Cannot run ${command}: KAFKA_PARTITIONER is other for ${unknown.join(', ')}, which does not say where their keys go; want murmur2 or crc32`,
  );
}

type Keyed = Pick<EncodedRecord, 'topic' | 'partition' | 'offset' | 'keyBytes'>;

/** Offsets may have no record, or one with a bad key: if so, it reads on from further back. */
async function lastKeys(
  log: EventLog,
  topics: readonly TopicName[],
  bounds: LogBounds,
  signal: AbortSignal,
): Promise<Keyed[]> {
  const key = new RecordKey();
  for (let window = lookedAt; ; window *= 10) {
    const lasts = byTopic((topic) => bounds[topic].map((): Keyed[] => []));
    const beginOf = (topic: TopicName, { low, end }: { low: number; end: number }): number =>
      topics.includes(topic) ? Math.max(low, end - window) : end;
    const from = byTopic((topic) => bounds[topic].map((one) => beginOf(topic, one)));
    await followToEnds(log, from, bounds, signal, ({ topic, partition, records }) => {
      const last = lasts[topic][partition]!;
      for (const { offset, keyBytes } of records) {
        if (keyBytes === null || key.set(topic, keyBytes) !== null) continue;
        if (last.push({ topic, partition, offset, keyBytes: Buffer.from(keyBytes) }) > lookedAt) last.shift();
      }
    });
    const isEnough = (topic: TopicName): boolean =>
      lasts[topic].every((last, i) => last.length === lookedAt || from[topic][i]! === bounds[topic][i]!.low);
    if (topics.every(isEnough)) return topics.flatMap((topic) => lasts[topic].flat());
  }
}
