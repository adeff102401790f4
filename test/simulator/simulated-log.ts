import {
  type EncodedRecord,
  type EventLog,
  type Follower,
  type LogBounds,
  LogTruncatedError,
  type Position,
} from '../../projector/ports/event-log.ts';
import { WakeUp } from '../../projector/ports/waiting.ts';
import { type AnyRecord, type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { Random } from '../../services/simulate/random.ts';
import { toLogRecord } from '../support/histories.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { Timeline } from './timeline.ts';
import { type Change, type EntityName, entityName } from './world.ts';

/** A record in the log. A lost one was cut off with its partition's tail. */
export interface Published extends Change {
  /** Which leader of the partition took it. */
  epoch: number;
  delivered: EncodedRecord;
}

interface Partition {
  topic: TopicName;
  partition: number;
  epoch: number;
  records: Published[];
  /** How many records were there before anything ran: these are not lost. */
  founding: number;
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
  readonly #readers = new Set<() => void>();
  /** Topics that a process does not get for now. */
  readonly #held = new Map<SimulatedProcess, TopicName>();

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
    for (const topic of topicNames) {
      for (let partition = 0; partition < (partitionsOf[topic] ?? 1); partition++) {
        this.partitions.push({ topic, partition, epoch: 0, records: [], founding: 0 });
      }
    }
  }

  publish(change: Change): Published {
    const of = this.partitions.filter(({ topic }) => topic === change.topic);
    const { topic, partition, epoch, records } = of[sumOf(change.key) % of.length]!;
    const place = { topic, partition, offset: records.length, timestampMs: this.#timeline.nowMs };
    const published = { ...change, epoch, delivered: toLogRecord({ ...change, ...place }) };
    records.push(published);
    for (const grown of this.#readers) grown();
    return published;
  }

  open(): void {
    for (const partition of this.partitions) partition.founding = partition.records.length;
  }

  /** A process gets nothing of a topic, until it is released. */
  hold(process: SimulatedProcess, topic: TopicName): void {
    this.#held.set(process, topic);
  }

  release(): void {
    this.#held.clear();
    for (const changed of this.#readers) changed();
  }

  /** An unclean election: the new leader of a partition lacks its last records. Returns what is lost. */
  truncate(index: number, count: number): Published[] {
    const partition = this.partitions[index % this.partitions.length]!;
    partition.epoch += 1;
    for (const changed of this.#readers) changed();
    return partition.records.splice(Math.max(partition.founding, partition.records.length - count));
  }

  /** The last record of each key. */
  latest(): Map<EntityName, { topic: TopicName; key: string; value: AnyRecord | null }> {
    const found = new Map<EntityName, Change>();
    for (const { records } of this.partitions) for (const record of records) found.set(entityName(record), record);
    return found;
  }

  adapter(process: SimulatedProcess, random: Random): EventLog {
    const grown = new WakeUp();
    this.#readers.add(() => this.#timeline.after(random.unit() * 3, () => process.run('log', () => grown.notify())));
    return {
      bounds: async () => {
        await process.clock.sleep(random.int(1, 20));
        return this.#bounds();
      },
      identity: async () => 'the log',
      follow: (from, follower, signal) => this.#follow({ from, follower, signal, process, random, grown }),
      close: async () => {},
    };
  }

  #bounds(): LogBounds {
    const bounds = Object.fromEntries(topicNames.map((topic) => [topic, []])) as unknown as LogBounds;
    for (const { topic, records } of this.partitions) bounds[topic].push({ low: 0, end: records.length });
    return bounds;
  }

  async #follow({ from, follower, signal, process, random, grown }: Following): Promise<void> {
    const epochs = new Map<Partition, number>();
    while (!signal.aborted) {
      let moved = false;
      const stops = [grown.wait(), new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))];
      for (const partition of shuffled(this.partitions, random)) {
        if (signal.aborted) return;
        const { topic, records } = partition;
        if (this.#held.get(process) === topic) continue;
        const at = from[topic][partition.partition]!;
        const hold = follower.hold?.(topic, partition.partition) ?? null;
        if (hold) stops.push(hold.moved);
        if (hold && hold.offset <= at) continue;
        assertNotDiverged(partition, at, epochs.get(partition));
        const end = Math.min(at + random.int(1, 6), records.length, hold?.offset ?? records.length);
        if (end === at) continue;
        const batch = records.slice(at, end);
        epochs.set(partition, batch.at(-1)!.epoch);
        from[topic][partition.partition] = end;
        moved = true;
        await follower.onBatch({
          topic,
          partition: partition.partition,
          records: batch.map(({ delivered }) => delivered),
          nextOffset: end,
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
}

/** A fetch says where the reader stands, and of which epoch the last record was that it read. */
function assertNotDiverged({ topic, partition, records }: Partition, at: number, epoch: number | undefined): void {
  const last = records[at - 1];
  if (at === 0 || (last && (epoch === undefined || last.epoch === epoch))) return;
  throw new LogTruncatedError(`${topic}/${partition} has lost records that were read`);
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = random.int(0, i);
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}

const sumOf = (text: string): number => [...text].reduce((sum, letter) => sum + letter.codePointAt(0)!, 0);
