import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, realClock } from '../../projector/ports/clock.ts';
import { LogTruncatedError } from '../../projector/ports/event-log.ts';
import { untilAborted, WakeUp } from '../../projector/ports/waiting.ts';
import { type FetchedPartition, type KafkaCluster, kafkaErrors } from './kafka-cluster.ts';
import type { FetchedRecord } from './kafka-record-batches.ts';
import { type KafkaLog, LoggedBackOff } from './kafka-retry.ts';

/** The state of a partition. What is fetched and not yet handled is queued in `chunks`. */
export interface ReaderPartition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** The next offset to fetch. */
  offset: number;
  /** The leader's node id. -1 if there is none. */
  leader: number;
  chunks: Chunk[];
  /** Its handler waits for something. Nothing is fetched or handled meanwhile. */
  waiting: boolean;
  /** When it was last known to have been read to its end, in milliseconds since the epoch. */
  caughtUpMs: number;
  /** Since when an open transaction has held it back, or null. */
  heldBackSinceMs: number | null;
  /** Whether that was reported. */
  heldBack: boolean;
}

export interface Chunk {
  records: FetchedRecord[];
  nextOffset: number;
}

/** The rest of a chunk, to be handled once `until` resolves. */
export interface Remainder {
  records: FetchedRecord[];
  until: Promise<void>;
}

export interface ReaderHandler {
  /** Called with one chunk at a time, over all partitions. A partition's chunks come in order, without gaps. */
  onChunk(partition: ReaderPartition, chunk: Chunk): Promise<Remainder | null>;
  /**
   * The present leaders, by `topic/partition`. Called at the start, after errors and regularly. May throw to end the
   * reader.
   */
  leaders(): Promise<ReadonlyMap<string, number>>;
  /** An open transaction has hidden the following records for a while, or no longer hides them. */
  onHeldBack?(partition: ReaderPartition, heldBack: boolean): void;
  /** The longest time, in milliseconds, that a partition may be unread before records of it can be missed. */
  awayMsMax?(topic: string): number;
}

const fetchWaitMs = 500;
/** Chunks queued per partition: one being handled, one fetched meanwhile. */
const chunksMax = 2;
const heldBackDelayMs = 2_000;

/**
 * Reads partitions from Kafka without end and without a consumer group: no session that times out, no rejoin, no
 * positions but ours. One fetch at a time per broker, while earlier records are handled.
 */
export class KafkaReader {
  readonly #cluster: KafkaCluster;
  readonly #handler: ReaderHandler;
  readonly #log: KafkaLog;
  readonly #clock: Clock;
  readonly #checkEveryMs: number;
  readonly #wakeUp = new WakeUp();
  readonly #fetching = new Map<number, Promise<void>>();
  readonly #stop = new AbortController();
  #partitions: ReaderPartition[];
  #finding: Promise<void> | null = null;
  #fault: { error: unknown } | null = null;

  constructor(
    cluster: KafkaCluster,
    partitions: readonly { topic: string; topicId: string; partition: number; offset: number }[],
    handler: ReaderHandler,
    { log, checkEveryMs, clock = realClock }: { log: KafkaLog; checkEveryMs: number; clock?: Clock },
  ) {
    this.#cluster = cluster;
    this.#handler = handler;
    this.#log = log;
    this.#clock = clock;
    this.#checkEveryMs = checkEveryMs;
    const started = { leader: -1, waiting: false, caughtUpMs: Date.now(), heldBackSinceMs: null, heldBack: false };
    this.#partitions = partitions.map((partition) => ({ ...partition, ...started, chunks: [] }));
  }

  /** Resolves once `signal` aborts and the present chunk is handled. Rejects with the first error. */
  async run(signal: AbortSignal): Promise<void> {
    const aborted = () => this.#stop.abort();
    if (signal.aborted) return;
    signal.addEventListener('abort', aborted, { once: true });
    this.#stop.signal.addEventListener('abort', () => this.#wakeUp.notify(), { once: true });
    await Promise.all([this.#guard(this.#watchLeaders()), this.#guard(this.#handleChunks())]);
    await Promise.all(this.#fetching.values());
    signal.removeEventListener('abort', aborted);
    if (this.#fault) throw this.#fault.error;
  }

  /** The first error of any part ends all of them. */
  async #guard(part: Promise<void>): Promise<void> {
    try {
      await part;
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#fault ??= { error };
      this.#stop.abort();
    }
  }

  async #watchLeaders(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#findLeaders();
      await this.#clock.sleep(this.#checkEveryMs, this.#stop.signal);
    }
  }

  /** Many callers at once cause one request. */
  #findLeaders(): Promise<void> {
    this.#finding ??= this.#findLeadersNow().finally(() => {
      this.#finding = null;
    });
    return this.#finding;
  }

  async #findLeadersNow(): Promise<void> {
    const leaders = await this.#handler.leaders();
    for (const partition of this.#partitions) {
      partition.leader = leaders.get(`${partition.topic}/${partition.partition}`) ?? -1;
    }
    for (const node of new Set(this.#partitions.map(({ leader }) => leader))) {
      if (node >= 0 && !this.#fetching.has(node) && !this.#stop.signal.aborted) this.#startFetching(node);
    }
    this.#wakeUp.notify();
  }

  #startFetching(node: number): void {
    const fetching = this.#guard(this.#fetchFrom(node)).finally(() => this.#fetching.delete(node));
    this.#fetching.set(node, fetching);
  }

  async #fetchFrom(node: number): Promise<void> {
    const { signal } = this.#stop;
    const backOff = new LoggedBackOff('Cannot read from Kafka', { log: this.#log, signal, clock: this.#clock });
    while (!signal.aborted) {
      const led = this.#partitions.filter(({ leader }) => leader === node);
      if (led.length === 0) return;
      const asked = led.filter(({ waiting }) => !waiting);
      if (asked.length === 0 || asked.some(({ chunks }) => chunks.length >= chunksMax)) {
        await this.#wakeUp.wait();
        continue;
      }
      try {
        const fetched = await untilAborted(this.#cluster.fetch(node, asked, fetchWaitMs), signal);
        const faulty = this.#takeFetched(asked, fetched);
        if (faulty)
          throw new Error(`${faulty.topic}/${faulty.partition} answers with Kafka's error code ${faulty.code}`);
        backOff.succeeded();
      } catch (error) {
        if (error instanceof LogTruncatedError) throw error;
        await backOff.failed(error);
        await this.#findLeaders();
      }
    }
  }

  /** Queues what was fetched. Returns a partition that could not be read, if any. */
  #takeFetched(
    asked: readonly ReaderPartition[],
    fetched: readonly FetchedPartition[],
  ): { topic: string; partition: number; code: number } | null {
    let faulty = null;
    const byId = new Map(asked.map((partition) => [`${partition.topicId}/${partition.partition}`, partition]));
    const served = new Set<ReaderPartition>();
    for (const found of fetched) {
      const partition = byId.get(`${found.topicId}/${found.partition}`)!;
      // The partition's leader moved meanwhile, and the new leader answered first.
      if (found.offset !== partition.offset) continue;
      const { topic } = partition;
      if (found.errorCode === kafkaErrors.offsetOutOfRange) throw truncated(partition);
      if (found.errorCode !== 0) faulty = { topic, partition: partition.partition, code: found.errorCode };
      else if (this.#advance(partition, found)) served.add(partition);
    }
    // Kafka fills a response in the order of the request, so partitions that got records go to the end of the queue.
    this.#partitions = [...this.#partitions.filter((one) => !served.has(one)), ...served];
    if (served.size > 0) this.#wakeUp.notify();
    return faulty;
  }

  #advance(partition: ReaderPartition, found: FetchedPartition): boolean {
    const nowMs = Date.now();
    const moved = found.nextOffset > partition.offset;
    if (moved) {
      const awayMsMax = this.#handler.awayMsMax?.(partition.topic) ?? Number.POSITIVE_INFINITY;
      if (nowMs - partition.caughtUpMs > awayMsMax) throw awayTooLong(partition, awayMsMax);
      partition.offset = found.nextOffset;
      partition.chunks.push({ records: found.records, nextOffset: found.nextOffset });
    }
    if (partition.offset >= found.lastStableOffset) partition.caughtUpMs = nowMs;
    this.#noteHeldBack(partition, found, nowMs);
    return moved;
  }

  #noteHeldBack(partition: ReaderPartition, found: FetchedPartition, nowMs: number): void {
    const heldBack = partition.offset >= found.lastStableOffset && found.lastStableOffset < found.highWatermark;
    partition.heldBackSinceMs = heldBack ? (partition.heldBackSinceMs ?? nowMs) : null;
    // Most transactions end within moments, and are not worth reporting.
    const lasting = partition.heldBackSinceMs !== null && nowMs - partition.heldBackSinceMs >= heldBackDelayMs;
    if (lasting !== partition.heldBack) this.#handler.onHeldBack?.(partition, lasting);
    partition.heldBack = lasting;
  }

  async #handleChunks(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const ready = this.#partitions.filter(({ waiting, chunks }) => !waiting && chunks.length > 0);
      if (ready.length === 0) await this.#wakeUp.wait();
      for (const partition of ready) {
        if (this.#stop.signal.aborted) return;
        await this.#handle(partition);
        // Handlers may only compute. Sockets and timers must run too.
        await nextTurn();
      }
    }
  }

  async #handle(partition: ReaderPartition): Promise<void> {
    const chunk = partition.chunks.shift()!;
    const remainder = await this.#handler.onChunk(partition, chunk);
    if (remainder) {
      partition.chunks.unshift({ records: remainder.records, nextOffset: chunk.nextOffset });
      partition.waiting = true;
      void remainder.until.then(() => {
        partition.waiting = false;
        this.#wakeUp.notify();
      });
    }
    this.#wakeUp.notify();
  }
}

function truncated({ topic, partition, offset }: ReaderPartition): LogTruncatedError {
  return new LogTruncatedError(
    `Cannot read ${topic}/${partition}@${offset}: Kafka no longer has this offset (records were deleted, or a broker lost them); start again, to fold the log from its start`,
  );
}

function awayTooLong({ topic, partition, offset }: ReaderPartition, awayMsMax: number): LogTruncatedError {
  const hours = Math.round(awayMsMax / 360_000) / 10;
  return new LogTruncatedError(
    `Cannot go on at ${topic}/${partition}@${offset}: it went unread for more than ${hours} hours, half of delete.retention.ms, so tombstones may be gone; start again, to fold the log from its start`,
  );
}
