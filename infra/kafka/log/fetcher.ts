import { LogTruncatedError } from '../../../projector/ports/event-log.ts';
import { realClock } from '../../../projector/running/clock.ts';
import { countText } from '../../../projector/running/log.ts';
import { race, Stop } from '../../../projector/running/stop.ts';
import { Turns, WakeUp } from '../../../projector/running/waiting.ts';
import { type KafkaCluster, type KafkaTopic, kafkaErrors } from '../client/kafka-cluster.ts';
import { type Asking, LoggedBackOff } from '../client/logged-back-off.ts';
import type { FetchedPartition } from '../protocol/fetch-api.ts';
import { type batchLimits, type Piece, recordPieces } from '../protocol/record-batch.ts';
import {
  advance,
  diverged,
  errorOf,
  type FollowedPartition,
  followedPartition,
  instant,
  noteHeldBack,
  truncated,
} from './followed-partition.ts';

export interface WaitingPiece extends Piece {
  /** Since when its first record has waited to be handled, by `Clock.nowMs`. */
  sinceMs: number;
}

/** A piece was handled only up to offset `from`. The partition goes on from there once `until` resolves. */
export interface Remainder {
  from: number;
  until: Promise<void>;
}

export interface FetchHandler {
  /** Called with one piece at a time, over all partitions. A partition's pieces come in order, without gaps. */
  onPiece(partition: FollowedPartition, piece: WaitingPiece): Promise<Remainder | null>;
  /** The topics with their present leaders. Called at the start, regularly and after errors. If it throws, `run` rejects. */
  topics(): Promise<readonly KafkaTopic[]>;
  /** An open transaction has hidden the following records for a while, or no longer hides them: `heldBack` says which. */
  onHeldBack?(partition: FollowedPartition): void;
  /** delete.retention.ms: tombstones that were unread for longer may be gone. */
  retentionMs?: number;
}

interface FetcherDeps extends Asking {
  cluster: KafkaCluster;
  handler: FetchHandler;
  checkEveryMs: number;
  /** `batchLimits` by default. */
  limits?: typeof batchLimits;
}

interface Failing {
  partition: FollowedPartition;
  fault: Error;
}

const fetchWaitMs = 500;
/** While a partition waits. It is not in the fetch under way, so that fetch must end soon for it to go on. */
const shortFetchWaitMs = 50;
/** A broker is silent once its answer is this much later than the longest wait that we ask for. */
const lateMs = 500;
/** Answers that are queued per partition, besides the one that is being handled. */
const queuedMax = 2;

/**
 * Fetches partitions without end, and hands their records on. It has no consumer group: no session times out, nothing
 * rejoins, and the only positions are ours. Each broker has one fetch at a time, while earlier records are handled.
 */
export class Fetcher {
  readonly #deps: FetcherDeps;
  readonly #wakeUp = new WakeUp();
  readonly #fetching = new Map<number, Promise<void>>();
  /** Since when each broker has owed an answer, by its node id. At -1: since when a partition has had no leader. */
  readonly #askedMs = new Map<number, number>();
  #stop = new Stop();
  #partitions: FollowedPartition[];
  #finding: Promise<void> | null = null;
  #fault: { error: unknown } | null = null;

  /** `offsets`: of each topic, the next offset to fetch of each partition. */
  constructor(topics: readonly KafkaTopic[], offsets: (topic: string) => readonly number[], deps: FetcherDeps) {
    this.#deps = deps;
    const begun = instant();
    this.#partitions = topics.flatMap(({ name: topic, id: topicId }) =>
      offsets(topic).map((offset, partition) => followedPartition({ topic, topicId, partition, offset }, begun)),
    );
  }

  /** Resolves once `signal` aborts and the present piece is handled. Rejects with the first error. */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#stop = new Stop([signal]);
    await Promise.all([this.#guard(this.#refreshLeaders()), this.#guard(this.#handleAll())]);
    await Promise.all(this.#fetching.values());
    this.#stop.end();
    if (this.#fault) throw this.#fault.error;
  }

  get partitions(): readonly FollowedPartition[] {
    return this.#partitions;
  }

  /** Since when a broker has not answered, by `Clock.nowMs`. Null: all answer. */
  get silentSinceMs(): number | null {
    const silent = [...this.#askedMs.keys()].filter((node) => this.#isSilent(node));
    return silent.length > 0 ? Math.min(...silent.map((node) => this.#askedMs.get(node)!)) : null;
  }

  #isSilent(node: number): boolean {
    const askedMs = this.#askedMs.get(node);
    return askedMs !== undefined && realClock.nowMs() - askedMs > fetchWaitMs + lateMs;
  }

  /** Since when a partition has, or may have, records that are not handed on yet. Null: it has none. */
  unreadSinceMs(partition: FollowedPartition): number | null {
    const [fetched] = partition.fetched;
    if (fetched) return fetched.sinceMs;
    if (partition.heldBackSinceMs !== null) return partition.heldBackSinceMs;
    const isBehind = partition.offset < partition.stableEnd || partition.paused;
    return isBehind || this.#isSilent(partition.leader) ? partition.caughtUpMs : null;
  }

  /** The first error of any part ends all of them. */
  async #guard(part: Promise<void>): Promise<void> {
    try {
      await part;
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#fault ??= { error };
      this.#stop.end();
    }
  }

  async #refreshLeaders(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#findLeaders();
      await realClock.sleep(this.#deps.checkEveryMs, this.#stop.signal);
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
    const topics = new Map((await this.#deps.handler.topics()).map((topic) => [topic.name, topic]));
    for (const partition of this.#partitions) {
      const leader = topics.get(partition.topic)?.partitions[partition.partition];
      partition.leader = leader?.node ?? -1;
      partition.leaderEpoch = leader?.epoch ?? -1;
    }
    const nodes = new Set(this.#partitions.map(({ leader }) => leader));
    this.#asked(-1, nodes.has(-1));
    for (const node of nodes) {
      if (node >= 0 && !this.#fetching.has(node) && !this.#stop.signal.aborted) this.#startFetching(node);
    }
    this.#wakeUp.notify();
  }

  #asked(node: number, owes: boolean): void {
    if (!owes) this.#askedMs.delete(node);
    else if (!this.#askedMs.has(node)) this.#askedMs.set(node, realClock.nowMs());
  }

  #startFetching(node: number): void {
    const fetching = this.#guard(this.#fetchFrom(node)).finally(() => {
      this.#fetching.delete(node);
      this.#asked(node, false);
    });
    this.#fetching.set(node, fetching);
  }

  async #fetchFrom(node: number): Promise<void> {
    const { signal } = this.#stop;
    const backOff = this.#backOff('Cannot read from Kafka');
    while (!signal.aborted) {
      const led = this.#partitions.filter(({ leader }) => leader === node);
      if (led.length === 0) return;
      const asked = led.filter(({ waiting, paused }) => !waiting && !paused);
      if (asked.length === 0 || asked.some(({ fetched }) => fetched.length > queuedMax)) {
        await this.#wakeUp.wait(signal);
        continue;
      }
      try {
        // It stays set through failed attempts: a broker that refuses is as silent as one that does not answer.
        this.#asked(node, true);
        const waitMs = led.some(({ waiting }) => waiting) ? shortFetchWaitMs : fetchWaitMs;
        const fetched = await race(signal, this.#deps.cluster.fetch(node, asked, waitMs));
        this.#asked(node, false);
        this.#takeFetched(asked, fetched);
        backOff.succeeded();
      } catch (error) {
        if (error instanceof LogTruncatedError) throw error;
        await backOff.failed(error);
        await this.#findLeaders();
      }
    }
  }

  #backOff(what: string): LoggedBackOff {
    return new LoggedBackOff(what, { ...this.#deps, signal: this.#stop.signal });
  }

  /**
   * Leaves partitions out for a while. The others of their broker go on. Those that begin to fail alike, as all of a broker that
   * is back do, share one back-off, and so one log line.
   */
  #pause(failing: readonly Failing[]): void {
    const begin = failing.filter(({ partition }) => partition.backOff === null);
    for (const alike of Map.groupBy(begin, ({ fault }) => fault.message).values()) {
      const { topic, partition } = alike[0]!.partition;
      const more = alike.length > 1 ? ` and ${countText(alike.length - 1, 'other partition')}` : '';
      const backOff = this.#backOff(`Cannot read ${topic}/${partition}${more} from Kafka`);
      for (const one of alike) one.partition.backOff = backOff;
    }
    for (const [backOff, some] of Map.groupBy(failing, ({ partition }) => partition.backOff!)) {
      for (const { partition } of some) partition.paused = true;
      const until = backOff.failed(some[0]!.fault).then(() => {
        for (const { partition } of some) partition.paused = false;
        return this.#findLeaders();
      });
      void this.#guard(until);
    }
  }

  #takeFetched(asked: readonly FollowedPartition[], fetched: readonly FetchedPartition[]): void {
    const byId = new Map(asked.map((partition) => [`${partition.topicId}/${partition.partition}`, partition]));
    const served = new Set<FollowedPartition>();
    // Once for all partitions: the machine's up time is read from a file.
    const now = instant();
    const failing: Failing[] = [];
    for (const found of fetched) {
      const partition = byId.get(`${found.topicId}/${found.partition}`)!;
      // The partition's leader moved meanwhile, and the new leader answered first.
      if (found.offset !== partition.offset) continue;
      if (found.errorCode === kafkaErrors.offsetOutOfRange) throw truncated(partition);
      if (found.diverging) throw diverged(partition);
      const fault = found.errorCode === 0 ? found.fault : errorOf(partition, found.errorCode);
      if (fault) {
        failing.push({ partition, fault });
        continue;
      }
      partition.backOff?.succeeded();
      partition.backOff = null;
      if (advance(partition, found, now, this.#deps.handler.retentionMs)) served.add(partition);
      if (noteHeldBack(partition, found, now)) this.#deps.handler.onHeldBack?.(partition);
    }
    this.#pause(failing);
    // Kafka fills a response in the order of the request, so partitions that got records go to the end of the queue.
    this.#partitions = [...this.#partitions.filter((one) => !served.has(one)), ...served];
    if (served.size > 0) this.#wakeUp.notify();
  }

  async #handleAll(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const ready = this.#partitions.filter(({ waiting, fetched }) => !waiting && fetched.length > 0);
      // Changes that came together are folded in one turn, and so written in one round.
      const turns = new Turns();
      for (const partition of ready) if (!this.#stop.signal.aborted) await this.#handle(partition, turns);
      await (ready.length > 0 ? turns.take() : this.#wakeUp.wait(this.#stop.signal));
    }
  }

  async #handle(partition: FollowedPartition, turns: Turns): Promise<void> {
    const fetched = partition.fetched[0]!;
    const { batches, nextOffset: end, sinceMs } = fetched;
    for (const piece of recordPieces(batches, fetched.from, end, this.#deps.limits)) {
      const remainder = await this.#deps.handler.onPiece(partition, { ...piece, sinceMs });
      // A handler may never wait for anything. Sockets and timers must run too.
      if (turns.due()) await turns.take();
      if (remainder) {
        // What is left is unpacked again then: nothing unpacked is kept while it waits.
        fetched.from = Math.max(fetched.from, remainder.from);
        partition.waiting = true;
        void remainder.until.then(() => {
          partition.waiting = false;
          this.#wakeUp.notify();
        });
        return;
      }
      fetched.from = piece.nextOffset;
      if (this.#stop.signal.aborted) return;
    }
    partition.fetched.shift();
    this.#wakeUp.notify();
  }
}
