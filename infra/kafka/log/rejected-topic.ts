import { type Bounds, LogTruncatedError, MissingTopicsError, type Reject } from '../../../projector/ports/event-log.ts';
import { Stop } from '../../../projector/running/stop.ts';
import { type Long, longOf } from '../../../schemas/events/instants.ts';
import type { KafkaCluster, KafkaTopic } from '../client/kafka-cluster.ts';
import { type Asking, untilAnswered } from '../client/logged-back-off.ts';
import { batchBytesMax, batchLimits, type FetchedRecord } from '../protocol/record-batch.ts';
import { Fetcher, type FetchHandler } from './fetcher.ts';

/**
 * A record of `rejected` is the bad record as it came (key, value, headers), with these headers added, as text: its
 * place (topic without the prefix, partition, offset), its timestamp in milliseconds since the epoch, and the reason.
 */
const rejectedHeaders = {
  topic: 'ride-calendar.topic',
  partition: 'ride-calendar.partition',
  offset: 'ride-calendar.offset',
  timestamp: 'ride-calendar.timestamp',
  reason: 'ride-calendar.reason',
} as const;

const ownHeaders = new Set<string>(Object.values(rejectedHeaders));

/** A bad record's headers in `rejected`. */
export const headersOf = ({ topic, partition, offset, timestampMs, reason, raw }: Reject): Record<string, Buffer> => ({
  ...raw.headers,
  [rejectedHeaders.topic]: Buffer.from(topic),
  [rejectedHeaders.partition]: Buffer.from(String(partition)),
  [rejectedHeaders.offset]: Buffer.from(String(offset)),
  [rejectedHeaders.timestamp]: Buffer.from(String(timestampMs)),
  [rejectedHeaders.reason]: Buffer.from(reason),
});

/** The bad record in a record of `rejected`. Null if another program wrote it. */
function rejectOf({ key, value, headers }: FetchedRecord): Reject | null {
  const named = headers.map(({ key, value }) => [key, value ?? Buffer.alloc(0)] as const);
  const all = new Map(named);
  const text = (name: string) => all.get(name)?.toString();
  const [topic, reason] = [text(rejectedHeaders.topic), text(rejectedHeaders.reason)];
  const numbers = [rejectedHeaders.partition, rejectedHeaders.offset, rejectedHeaders.timestamp].map((name) =>
    /^-?\d{1,19}$/.test(text(name) ?? '') ? longOf(BigInt(text(name)!)) : null,
  );
  const [partition, offset, timestampMs] = numbers as [number, number, Long];
  const isPlaced = [partition, offset].every(Number.isSafeInteger) && timestampMs !== null;
  if (topic === undefined || reason === undefined || !isPlaced) return null;
  const own = Object.fromEntries(named.filter(([name]) => !ownHeaders.has(name)).map(([n, c]) => [n, Buffer.from(c)]));
  const raw = { key: key && Buffer.from(key), value: value && Buffer.from(value), headers: own };
  return { topic, partition, offset, timestampMs, reason, raw };
}

/** Room for a bad record that nearly fills a batch, and for the headers with its place. */
const limits = { bytesMax: batchBytesMax + (1 << 20), headersMax: batchLimits.headersMax + ownHeaders.size };

/** What `rejected` was when it was read, and how far. */
interface ReadTopic {
  topic: KafkaTopic;
  bounds: readonly Bounds[];
  position: number[];
}

/**
 * Reads `rejected` from where it last stopped to its present end. If it may have lost what was read (it is another topic, begins
 * later, ends before that position, or has had another leader, which may lack records), it reads it anew.
 */
export class RejectedTopic {
  readonly name: string;
  readonly #cluster: KafkaCluster;
  readonly #asking: Asking;
  #read: ReadTopic | null = null;

  constructor(cluster: KafkaCluster, topicPrefix: string, asking: Asking) {
    this.name = `${topicPrefix}rejected`;
    this.#cluster = cluster;
    this.#asking = asking;
  }

  /**
   * Hands the bad records on some at a time: all of them may not fit in memory. `onAnew`: nothing that was handed on counts
   * any more. Throws MissingTopicsError without the topic, and the signal's reason.
   */
  async readOn(
    onRejects: (rejects: Reject[]) => unknown,
    signal: AbortSignal,
    onAnew: () => unknown = () => {},
  ): Promise<void> {
    for (;;) {
      const found = await this.#find(signal);
      if (!this.#read || mayHaveLost(this.#read, found)) {
        await onAnew();
        this.#read = { ...found, position: found.bounds.map(({ low }) => low) };
      }
      this.#read.bounds = found.bounds;
      if (await this.#readToEnd(this.#read, onRejects, signal)) return;
    }
  }

  #find(signal: AbortSignal): Promise<Pick<ReadTopic, 'topic' | 'bounds'>> {
    const find = async () => {
      const [topic] = await this.#cluster.topics([this.name]);
      if (!topic)
        throw new MissingTopicsError(`Cannot read ${this.name}: no such topic; make it with: npx ride-calendar topics`);
      return { topic, bounds: (await this.#cluster.bounds([topic])).get(this.name)! };
    };
    return untilAnswered(`Cannot read ${this.name}`, find, { ...this.#asking, signal });
  }

  /** False: it lost something meanwhile. */
  async #readToEnd(read: ReadTopic, onRejects: (rejects: Reject[]) => unknown, signal: AbortSignal): Promise<boolean> {
    const { topic, bounds, position } = read;
    const behind = () => bounds.some(({ end }, partition) => position[partition]! < end);
    if (!behind()) return true;
    const done = new Stop([signal]);
    const handler: FetchHandler = {
      onPiece: async ({ partition }, { records, nextOffset }) => {
        await onRejects(records.map(rejectOf).filter((reject) => reject !== null));
        position[partition] = nextOffset;
        if (!behind()) done.stop();
        return null;
      },
      topics: async () => {
        const found = await this.#find(done.signal);
        if (mayHaveLost(read, found)) done.stop();
        return [found.topic];
      },
    };
    const deps = { ...this.#asking, cluster: this.#cluster, handler, checkEveryMs: 10_000, limits };
    const fetcher = new Fetcher([topic], () => position, deps);
    const isLost = await fetcher
      .run(done.signal)
      .then(
        () => false,
        (cause: unknown) => {
          if (cause instanceof LogTruncatedError) return true;
          throw cause;
        },
      )
      .finally(() => done.end());
    signal.throwIfAborted();
    return !isLost && !behind();
  }
}

const mayHaveLost = (read: ReadTopic, { topic, bounds }: Pick<ReadTopic, 'topic' | 'bounds'>): boolean =>
  read.topic.id !== topic.id ||
  read.topic.partitions.length !== topic.partitions.length ||
  read.topic.partitions.some(({ epoch }, partition) => epoch !== topic.partitions[partition]!.epoch) ||
  read.bounds.some(({ low }, partition) => low < bounds[partition]!.low) ||
  read.position.some((offset, partition) => bounds[partition]!.end < offset);
