import type { ArchiveSources } from '../../infra/archive/log/partition-cursor.ts';
import { eachOfTopic } from '../../infra/archive/log/records-in-time.ts';
import { LargeMap } from '../../projector/facts/large-map.ts';
import { MisplacedRecords } from '../../projector/intake/misplaced-records.ts';
import type { EncodedRecord, EventLog } from '../../projector/ports/event-log.ts';
import type { Partitioners } from '../../schemas/events/partitioner.ts';
import { RecordKey } from '../../schemas/events/record-keys.ts';
import { byTopic, type TopicName, topicNames } from '../../schemas/events/records.ts';
import { declaredPartitions, type PartitionOf } from '../backends/declared-partitions.ts';
import { UsageError } from '../cli/io.ts';

/** What decides where records go. */
export interface PlacingOptions {
  /** Puts a log of mixed producers back together: each key in one partition, its records in the order of their times. */
  repartition?: boolean;
  partitioners: Partitioners;
  /** Those of them that were declared. */
  givenPartitioners: Partial<Partitioners>;
  signal: AbortSignal;
}

/** The topics whose records keep their partitions, and where the keys of the others go. */
export interface LoadPartitions {
  kept: ReadonlySet<TopicName>;
  partitionOf: PartitionOf;
}

/**
 * Decides where a load puts records (docs/rules.md#archive-load-partitions). Throws UsageError if the setting is not known
 * to be that of the archive's producers, or of those who published to the topics.
 */
export async function loadPartitions(
  sources: ArchiveSources,
  log: EventLog,
  options: PlacingOptions,
): Promise<LoadPartitions> {
  const { repartition = false, partitioners, givenPartitioners, signal } = options;
  const there = await log.bounds();
  const inArchive = (topic: TopicName) => sources.partitions.filter((source) => source.topic === topic);
  const held = topicNames.filter((topic) => inArchive(topic).some(({ low, end }) => low < end));
  const isKept = (topic: TopicName): boolean =>
    inArchive(topic).length === there[topic].length && (!repartition || there[topic].length === 1);
  const moved = held.filter((topic) => !isKept(topic));
  const faults: string[] = [];
  for (const topic of moved) {
    const [from, to] = [inArchive(topic).length, there[topic].length];
    if (from === 1 && givenPartitioners[topic] === undefined)
      faults.push(
        `${topic} has one partition, which does not show how its producers choose among ${to}: set KAFKA_PARTITIONER`,
      );
    else if (from > 1 && !repartition) faults.push(...(await misplacedIn(sources, topic, from, partitioners, signal)));
  }
  if (faults.length > 0) throw new UsageError(`Cannot load the archive: ${faults.join('; ')}`);
  const partitionOf = await declaredPartitions('archive load', moved, { log, partitioners, signal });
  return { kept: new Set(topicNames.filter((topic) => !moved.includes(topic))), partitionOf };
}

/** What is wrong with a topic of the archive by its declared partitioner, in words: one line or none. */
async function misplacedIn(
  sources: ArchiveSources,
  topic: TopicName,
  partitions: number,
  partitioners: Partitioners,
  signal: AbortSignal,
): Promise<string[]> {
  const misplaced = new MisplacedRecords(partitioners);
  const [byMurmur2, byCrc32] = (['murmur2', 'crc32'] as const).map((one) => new MisplacedRecords(byTopic(() => one)));
  const key = new RecordKey();
  let count = 0;
  await eachOfTopic(sources, topic, signal, ({ encoded }) => {
    if (encoded!.keyBytes && key.set(topic, encoded!.keyBytes) === null) count++;
    for (const one of [misplaced, byMurmur2!, byCrc32!]) one.take(encoded!, partitions);
  });
  if (misplaced.found.size === 0) return [];
  const share = ({ found }: MisplacedRecords): string =>
    `${Math.floor((100 * (count - (found.get(topic)?.records ?? 0))) / count)} %`;
  return [
    `${misplaced.line(topic)}; murmur2 explains ${share(byMurmur2!)} of its records, crc32 ${share(byCrc32!)}. Set KAFKA_PARTITIONER to what explains all, or load into topics of as many partitions (${topic}: ${partitions}); a log of mixed producers is put back together by --repartition`,
  ];
}

/** The keys whose last two records have one time, as `topic/key`: nobody knows which of them is the last. */
export class TiedKeys {
  readonly #times = new LargeMap<string, number>();
  readonly #tied = new Set<string>();
  readonly #key = new RecordKey();

  /** Takes a record, in the order of times. */
  take({ topic, keyBytes }: EncodedRecord, timeMs: number): void {
    if (keyBytes === null || this.#key.set(topic, keyBytes) !== null) return;
    const name = `${topic}/${keyBytes.toString('latin1')}`;
    if (this.#times.get(name) === timeMs) this.#tied.add(name);
    else this.#tied.delete(name);
    this.#times.set(name, timeMs);
  }

  get names(): string[] {
    return [...this.#tied];
  }
}
