import {
  type EncodedRecord,
  type EventLog,
  type Follower,
  type LogBounds,
  LogTruncatedError,
  type Position,
} from '../../projector/ports/event-log.ts';
import { aborted, WakeUp } from '../../projector/ports/waiting.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { Random } from '../../services/simulate/world/random.ts';
import { toLogRecord } from '../support/worlds/histories.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Timeline } from './timeline.ts';
import { type Change, type EntityName, entityName } from './world.ts';

/** A record in the log. A lost one was cut off with its partition's tail. */
export interface Published extends Change {
  offset: number;
  delivered: EncodedRecord;
}

interface Partition {
  topic: TopicName;
  partition: number;
  /** In the order of offsets, which skip numbers after compaction. */
  records: Published[];
  end: number;
  /** Records before this offset are not lost: they were there before anything ran, or were compacted. */
  kept: number;
  /** From which offset on each leader of the partition took records, as Kafka's leader epochs say. */
  epochs: number[];
}

const partitionsOf: Partial<Record<TopicName, number>> = {
  rides: 2,
  nights: 2,
  attendance: 2,
  relations: 2,
  riders: 2,
};

/** A partitioned log that grows, and may lose its tail. Every process reads it through an adapter of its own. */
export class SimulatedLog {
  readonly #timeline: Timeline;
  readonly partitions: Partition[] = [];
  /** Counts changes of what the log holds. */
  version = 0;
  readonly #readers = new Set<() => void>();
  /** Topics that a process does not get for now. */
  readonly #held = new Map<SimulatedProcess, TopicName>();
  readonly #followings = new Set<Following>();
  #frozen = false;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
    for (const topic of topicNames) {
      for (let partition = 0; partition < (partitionsOf[topic] ?? 1); partition++) {
        this.partitions.push({ topic, partition, records: [], end: 0, kept: 0, epochs: [0] });
      }
    }
  }

  publish(change: Change): Published {
    const at = this.partitions[this.indexOf(change)]!;
    const place = { partition: at.partition, offset: at.end, timestampMs: this.#timeline.nowMs };
    const published = { ...change, offset: at.end, delivered: toLogRecord({ ...change, ...place }) };
    at.records.push(published);
    at.end += 1;
    this.version += 1;
    for (const grown of this.#readers) grown();
    return published;
  }

  /** Which partition a change goes to. */
  indexOf({ topic, key }: Pick<Change, 'topic' | 'key'>): number {
    const first = this.partitions.findIndex((each) => each.topic === topic);
    return first + (sumOf(key) % (partitionsOf[topic] ?? 1));
  }

  open(): void {
    for (const partition of this.partitions) partition.kept = partition.end;
  }

  /** A process gets nothing of a topic, until it is released. */
  hold(process: SimulatedProcess, topic: TopicName): void {
    this.#held.set(process, topic);
  }

  release(): void {
    this.#held.clear();
    for (const changed of this.#readers) changed();
  }

  /** The log answers nobody, until it is resumed. */
  freeze(): void {
    this.#frozen = true;
  }

  resume(): void {
    this.#frozen = false;
    for (const changed of this.#readers) changed();
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
    partition.end = end;
    partition.epochs = [...epochs.map((start) => Math.min(start, end)), end];
    this.version += 1;
    for (const changed of this.#readers) changed();
    return lost;
  }

  /**
   * The log is compacted, all but its last records: of each key the last good record stays, and bad ones after it, which
   * the least lag keeps until they are mended.
   */
  compact(index: number, left: number): void {
    const partition = this.partitions[index % this.partitions.length]!;
    const upTo = Math.max(partition.kept, partition.end - left);
    const lastGood = new Map<string, number>();
    for (const { key, offset, bad } of partition.records) if (!bad && offset < upTo) lastGood.set(key, offset);
    partition.records = partition.records.filter(
      ({ key, offset }) => offset >= upTo || offset >= (lastGood.get(key) ?? 0),
    );
    partition.kept = upTo;
    this.version += 1;
  }

  /** The last good record of each key. */
  latest(): Map<EntityName, Change> {
    const found = new Map<EntityName, Change>();
    for (const { records } of this.partitions) {
      for (const record of records) if (!record.bad) found.set(entityName(record), record);
    }
    return found;
  }

  /** The places of all bad records. */
  get bad(): string[] {
    return this.partitions.flatMap(({ records }) =>
      records.filter(({ bad }) => bad).map(({ delivered }) => placeOf(delivered)),
    );
  }

  /** A process has read records that were cut off since, and has not ended of it yet. */
  get hasReaderOfLostRecords(): boolean {
    return [...this.#followings].some(
      ({ process, from, epochs }) =>
        process.alive &&
        this.partitions.some((each) => hasDiverged(each, from[each.topic][each.partition]!, epochs.get(each))),
    );
  }

  adapter(process: SimulatedProcess, random: Random): EventLog {
    const grown = new WakeUp();
    this.#readers.add(() => this.#timeline.after(random.unit() * 3, () => process.run('log', () => grown.notify())));
    return {
      bounds: async () => {
        do await process.clock.sleep(random.int(1, 20));
        while (this.#frozen);
        return this.#bounds();
      },
      identity: async () => 'the log',
      follow: async (from, follower, signal) => {
        const following = { from, follower, signal, process, random, grown, epochs: new Map() };
        this.#followings.add(following);
        await this.#follow(following);
        this.#followings.delete(following);
      },
      close: async () => {},
    };
  }

  #bounds(): LogBounds {
    const bounds = Object.fromEntries(topicNames.map((topic) => [topic, []])) as unknown as LogBounds;
    for (const { topic, end } of this.partitions) bounds[topic].push({ low: 0, end });
    return bounds;
  }

  async #follow({ from, follower, signal, process, random, grown, epochs }: Following): Promise<void> {
    const stopped = aborted(signal);
    while (!signal.aborted) {
      let moved = false;
      const stops = [grown.wait(), stopped];
      for (const partition of this.#frozen ? [] : this.partitions) {
        assertNotDiverged(partition, from[partition.topic][partition.partition]!, epochs.get(partition));
      }
      const behind = this.partitions.filter(({ topic, partition, end }) => from[topic][partition]! < end);
      for (const partition of shuffled(behind, random)) {
        if (signal.aborted) return;
        const { topic } = partition;
        if (this.#frozen || this.#held.get(process) === topic) continue;
        const at = from[topic][partition.partition]!;
        const hold = follower.hold?.(topic, partition.partition) ?? null;
        if (hold) stops.push(hold.moved);
        if (hold && hold.offset <= at) continue;
        // Others were waited for meanwhile.
        assertNotDiverged(partition, at, epochs.get(partition));
        const nextOffset = Math.min(at + random.int(1, 6), partition.end, hold?.offset ?? partition.end);
        if (nextOffset <= at) continue;
        const records = partition.records.filter(({ offset }) => offset >= at && offset < nextOffset);
        epochs.set(partition, epochAt(partition, nextOffset - 1));
        from[topic][partition.partition] = nextOffset;
        moved = true;
        await follower.onBatch({
          topic,
          partition: partition.partition,
          records: records.map(({ delivered }) => delivered),
          nextOffset,
        });
        // Other partitions may be late.
        if (random.chance(0.3)) await process.clock.sleep(random.chance(0.1) ? random.int(1, 300) : random.unit() * 5);
      }
      if (!moved) await Promise.race(stops);
    }
  }
}

interface Following {
  from: Position;
  follower: Follower;
  signal: AbortSignal;
  process: SimulatedProcess;
  random: Random;
  grown: WakeUp;
  /** Of the last record that was read of each partition. */
  epochs: Map<Partition, number>;
}

const epochAt = ({ epochs }: Partition, offset: number): number => epochs.findLastIndex((start) => start <= offset);

/** A fetch says where the reader stands, and of which epoch the last record was that it read. */
function hasDiverged(partition: Partition, at: number, epoch: number | undefined): boolean {
  const isHeld = at <= partition.end && (epoch === undefined || epochAt(partition, at - 1) === epoch);
  return at !== 0 && !isHeld;
}

function assertNotDiverged(partition: Partition, at: number, epoch: number | undefined): void {
  if (!hasDiverged(partition, at, epoch)) return;
  throw new LogTruncatedError(`${partition.topic}/${partition.partition} has lost records that were read`);
}

type Place = Pick<EncodedRecord, 'topic' | 'partition' | 'offset' | 'timestampMs'>;
export const placeOf = ({ topic, partition, offset, timestampMs }: Place): string =>
  `${topic}/${partition}@${offset} of ${timestampMs}`;

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = random.int(0, i);
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}

const sumOf = (text: string): number => [...text].reduce((sum, letter) => sum + letter.codePointAt(0)!, 0);
