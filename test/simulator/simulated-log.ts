import { placeOf } from '../../infra/reject-places.ts';
import type { EventLog, LogBounds } from '../../projector/ports/event-log.ts';
import { byTopic, type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { Random } from '../../services/simulate/world/random.ts';
import { toLogRecord } from '../support/worlds/histories.ts';
import { emptyPartition, type Partition, type Published, stableEnd } from './log-partition.ts';
import { logReader } from './log-reader.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Timeline } from './timeline.ts';
import { type Change, type EntityName, entityName } from './world.ts';

const partitioned: readonly TopicName[] = ['rides', 'nights', 'attendance', 'relations', 'riders'];
const partitionsOf = (topic: TopicName): number => (partitioned.includes(topic) ? 2 : 1);

/** A partitioned log that grows, and may lose its tail. Every process reads it through an adapter of its own (log-reader.ts). */
export class SimulatedLog {
  readonly timeline: Timeline;
  readonly partitions: Partition[] = [];
  /** Counts changes of what the log holds. */
  version = 0;
  /** Each topic's id. One that is made anew has another. */
  readonly ids = byTopic(() => 1);
  /** When records were lost, and a topic was made anew, the last time. */
  lostMs = Number.NEGATIVE_INFINITY;
  anewMs = Number.NEGATIVE_INFINITY;
  /** Since when it answers nobody; null: it answers. */
  frozenSinceMs: number | null = null;
  /** It does not say where it begins and ends. */
  hangs = false;
  readonly #readers = new Set<ReturnType<typeof logReader>>();
  readonly #onReadable: (record: Published) => void;

  /** `onReadable`: hears of each record as soon as it can be read. */
  constructor(timeline: Timeline, onReadable: (record: Published) => void) {
    this.timeline = timeline;
    this.#onReadable = onReadable;
    for (const topic of topicNames) {
      for (let partition = 0; partition < partitionsOf(topic); partition++) {
        this.partitions.push({ topic, partition, records: [], kept: 0, ...emptyPartition() });
      }
    }
  }

  /** `inTransaction`: in the one that is open there, if one is. */
  publish(change: Change, inTransaction = false): Published {
    const at = this.partitions[this.indexOf(change)]!;
    const place = { partition: at.partition, offset: at.end, timestampMs: this.timeline.nowMs };
    const published = { ...change, offset: at.end, delivered: toLogRecord({ ...change, ...place }) };
    at.records.push(published);
    if (inTransaction) at.transaction?.records.add(published);
    at.end += 1;
    this.#changed(at);
    return published;
  }

  /** A producer begins a transaction, unless one is open. Returns whether it has. */
  begin(index: number): boolean {
    const at = this.partitions[index]!;
    if (at.transaction) return false;
    at.transaction = { from: at.end, records: new Set() };
    return true;
  }

  /** The transaction ends, if one is open. Aborted records never come. The marker has an offset of its own. */
  endTransaction(index: number, commits: boolean): void {
    const at = this.partitions[index]!;
    const { transaction } = at;
    if (!transaction) return;
    if (!commits) at.records = at.records.filter((record) => !transaction.records.has(record));
    at.transaction = null;
    at.endedMs = this.timeline.nowMs;
    at.end += 1;
    this.#changed(at);
  }

  /** Which partition a change goes to. */
  indexOf({ topic, key }: Pick<Change, 'topic' | 'key'>): number {
    const first = this.partitions.findIndex((each) => each.topic === topic);
    return first + (sumOf(key) % partitionsOf(topic));
  }

  /** What these topics hold is not lost with a tail. */
  keep(topics: readonly TopicName[]): void {
    for (const partition of this.partitions) if (topics.includes(partition.topic)) partition.kept = partition.end;
  }

  /** The log answers nobody, until it is resumed. */
  freeze(): void {
    this.frozenSinceMs ??= this.timeline.nowMs;
  }

  resume(): void {
    this.frozenSinceMs = null;
    this.hangs = false;
    this.#notify();
  }

  /** The partitions that have records to lose. */
  get losable(): number[] {
    return this.partitions.flatMap(({ end, kept }, i) => (end > kept ? [i] : []));
  }

  /** An unclean election: the new leader of a partition lacks its last records. Returns what is lost. */
  truncate(index: number, count: number): Published[] {
    const partition = this.partitions[index % this.partitions.length]!;
    const { records, kept, epochs } = partition;
    const end = Math.max(kept, partition.end - count);
    const lost = records.filter(({ offset }) => offset >= end);
    records.length -= lost.length;
    if (partition.transaction && partition.transaction.from >= end) partition.transaction = null;
    Object.assign(partition, { end, told: Math.min(partition.told, end) });
    partition.epochs = [...epochs.map((start) => Math.min(start, end)), end];
    this.lostMs = this.timeline.nowMs;
    this.#changed(partition);
    return lost;
  }

  /** A topic is deleted and made again, empty. Returns what is lost. */
  makeAnew(topic: TopicName): Published[] {
    const own = this.partitions.filter((each) => each.topic === topic);
    const lost = own.flatMap(({ records }) => records);
    for (const each of own) Object.assign(each, { records: [], kept: 0, ...emptyPartition() });
    this.ids[topic] += 1;
    this.anewMs = this.timeline.nowMs;
    this.version += 1;
    this.#notify();
    return lost;
  }

  /** Compaction, but of the last records: of each key the last good one stays, and bad ones after it, which the least lag keeps. */
  compact(index: number, left: number): void {
    const partition = this.partitions[index % this.partitions.length]!;
    const upTo = Math.max(partition.kept, Math.min(partition.end - left, stableEnd(partition)));
    const lastGood = new Map<string, number>();
    for (const { key, offset, bad } of partition.records) if (!bad && offset < upTo) lastGood.set(key, offset);
    partition.records = partition.records.filter(
      ({ key, offset }) => offset >= upTo || offset >= (lastGood.get(key) ?? 0),
    );
    partition.kept = upTo;
    this.version += 1;
  }

  /** The records that can be read. */
  get readable(): Published[] {
    return this.partitions.flatMap((each) => each.records.filter(({ offset }) => offset < stableEnd(each)));
  }

  /** The last good record of each key. */
  latest(): Map<EntityName, Change> {
    return new Map(this.readable.filter(({ bad }) => !bad).map((record) => [entityName(record), record]));
  }

  /** The places of all bad records. */
  get bad(): string[] {
    return this.readable.filter(({ bad }) => bad).map(({ delivered }) => placeOf(delivered));
  }

  /** A process has read records that are gone since, and has not ended of it yet. */
  get hasReaderOfLostRecords(): boolean {
    return [...this.#readers].some((reader) => reader.hasReadLostRecords());
  }

  adapter(process: SimulatedProcess, random: Random): EventLog {
    const reader = logReader(this, process, random);
    this.#readers.add(reader);
    return reader.adapter;
  }

  bounds(): LogBounds {
    return byTopic((topic) =>
      this.partitions.filter((each) => each.topic === topic).map(({ end }) => ({ low: 0, end })),
    );
  }

  #changed(partition: Partition): void {
    this.version += 1;
    const end = stableEnd(partition);
    if (end > partition.told) {
      for (const record of partition.records)
        if (record.offset >= partition.told && record.offset < end) this.#onReadable(record);
      partition.told = end;
    }
    this.#notify();
  }

  #notify(): void {
    for (const reader of this.#readers) reader.changed();
  }
}

const sumOf = (text: string): number => [...text].reduce((sum, letter) => sum + letter.codePointAt(0)!, 0);
