import {
  type EventLog,
  type Follower,
  type LogStatus,
  LogTruncatedError,
  PartitionsChangedError,
  type Position,
} from '../../projector/ports/event-log.ts';
import { wait } from '../../projector/running/stop.ts';
import { WakeUp } from '../../projector/running/waiting.ts';
import { clampedMs } from '../../schemas/events/instants.ts';
import { topicNames } from '../../schemas/events/records.ts';
import type { Random } from '../../services/simulate/world/random.ts';
import { epochAt, hasDiverged, type Partition, stableEnd } from './log-partition.ts';
import type { SimulatedLog } from './simulated-log.ts';
import type { SimulatedProcess } from './simulated-process.ts';

// As infra/kafka/log reports them: a log that does not answer a fetch, and a transaction that stays open.
const silentMs = 1_000;
const heldBackMs = 2_000;

/** The log as one process reads it, and what it knows of it. */
export class LogReader {
  readonly #log: SimulatedLog;
  readonly #process: SimulatedProcess;
  readonly #random: Random;
  readonly #grown = new WakeUp();
  /** The topics' ids as they were at first. */
  #first: string | null = null;
  #following: Following | null = null;

  constructor(log: SimulatedLog, process: SimulatedProcess, random: Random) {
    this.#log = log;
    this.#process = process;
    this.#random = random;
  }

  /** The log has grown, or changed otherwise: the process hears of it soon. */
  changed(): void {
    if (!this.#process.alive) return;
    this.#log.timeline.after(this.#random.unit() * 3, () => this.#process.run('log', () => this.#grown.notify()));
  }

  get adapter(): EventLog {
    return {
      bounds: async () => {
        await this.#untilAnswered();
        return this.#log.bounds();
      },
      identity: async () => {
        await this.#untilAnswered();
        return this.#first!;
      },
      follow: async (from, follower, signal) => {
        const sinceMs = this.#process.clock.nowMs();
        const following: Following = { from, follower, signal, sinceMs, epochs: new Map(), held: new Map() };
        // A second one reads bad records again.
        this.#following ??= following;
        void this.#noteHeldBack(following);
        await this.#follow(following);
      },
      status: () => this.#status(),
      close: async () => {},
    };
  }

  /** It has read records that are gone since, and has not ended of it yet. */
  get hasReadLostRecords(): boolean {
    if (!this.#process.alive || !this.#following) return false;
    return this.#isAnew || this.#log.partitions.some((each) => this.#hasDiverged(each, this.#following!));
  }

  #status(): LogStatus | null {
    const following = this.#following;
    if (!following) return null;
    const nowMs = this.#process.clock.nowMs();
    const { frozenSinceMs } = this.#log;
    const askedMs = frozenSinceMs === null ? null : Math.max(frozenSinceMs, following.sinceMs);
    const silentSinceMs = askedMs !== null && nowMs - askedMs > silentMs ? askedMs : null;
    const partitions = this.#log.partitions.map((each): LogStatus['partitions'][number] => {
      const heldSinceMs = following.held.get(each);
      return {
        topic: each.topic,
        partition: each.partition,
        end: each.end,
        unreadSinceMs: heldSinceMs ?? unreadSince(each, following) ?? silentSinceMs,
        waits:
          heldSinceMs !== undefined && nowMs - heldSinceMs >= heldBackMs
            ? { for: 'transaction', sinceMs: heldSinceMs }
            : null,
      };
    });
    return { partitions, silentSinceMs };
  }

  async #untilAnswered(): Promise<void> {
    do await this.#process.clock.sleep(this.#random.int(1, 20));
    while (this.#log.hangs || this.#log.frozenSinceMs !== null);
    this.#first ??= this.#ids;
    this.#assertNotAnew();
  }

  get #ids(): string {
    return topicNames.map((topic) => this.#log.ids[topic]).join(' ');
  }

  get #isAnew(): boolean {
    return this.#first !== this.#ids;
  }

  #assertNotAnew(): void {
    if (this.#isAnew) throw new PartitionsChangedError('A topic was deleted and made again');
  }

  #hasDiverged(each: Partition, { from, epochs }: Following): boolean {
    return hasDiverged(each, from[each.topic][each.partition]!, epochs.get(each));
  }

  #assertNotDiverged(each: Partition, following: Following): void {
    this.#assertNotAnew();
    if (!this.#hasDiverged(each, following)) return;
    throw new LogTruncatedError(`${each.topic}/${each.partition} has lost records that were read`);
  }

  async #follow(following: Following): Promise<void> {
    const { from, follower, signal, epochs } = following;
    const log = this.#log;
    const random = this.#random;
    while (!signal.aborted) {
      let moved = false;
      const stops = [this.#grown.wait()];
      const isFrozen = (): boolean => log.frozenSinceMs !== null;
      for (const each of isFrozen() ? [] : log.partitions) this.#assertNotDiverged(each, following);
      const behind = log.partitions.filter((each) => from[each.topic][each.partition]! < stableEnd(each));
      for (const each of shuffled(behind, random)) {
        if (signal.aborted) return;
        const { topic, partition } = each;
        if (isFrozen()) continue;
        const at = from[topic][partition]!;
        const hold = follower.hold?.(topic, partition) ?? null;
        if (hold) stops.push(hold.moved);
        if (hold && hold.offset <= at) continue;
        // Others were waited for meanwhile.
        this.#assertNotDiverged(each, following);
        const upTo = Math.min(stableEnd(each), hold?.offset ?? Number.POSITIVE_INFINITY);
        const nextOffset = Math.min(at + random.int(1, 6), upTo);
        if (nextOffset <= at) continue;
        const records = each.records.filter(({ offset }) => offset >= at && offset < nextOffset);
        epochs.set(each, epochAt(each, nextOffset - 1));
        from[topic][partition] = nextOffset;
        moved = true;
        await follower.onBatch({ topic, partition, records: records.map(({ delivered }) => delivered), nextOffset });
        // Other partitions may be late.
        if (random.chance(0.3))
          await this.#process.clock.sleep(random.chance(0.1) ? random.int(1, 300) : random.unit() * 5);
      }
      if (!moved) await wait(signal, ...stops);
    }
  }

  /** Notes partitions whose next records an open transaction hides, and says so once that has lasted. */
  async #noteHeldBack({ from, follower, signal, held }: Following): Promise<void> {
    const { clock } = this.#process;
    const said = new Set<Partition>();
    while (!signal.aborted) {
      for (const each of this.#log.partitions) {
        const { topic, partition, transaction, end } = each;
        const isHidden = transaction !== null && end > transaction.from && from[topic][partition]! >= transaction.from;
        if (!isHidden) held.delete(each);
        else if (!held.has(each)) held.set(each, clock.nowMs());
        const isLong = isHidden && clock.nowMs() - held.get(each)! >= heldBackMs;
        if (isLong === said.has(each)) continue;
        if (isLong) said.add(each);
        else said.delete(each);
        follower.onWaiting?.(topic, partition, isLong);
      }
      await clock.sleep(fetchMs, signal);
    }
  }
}

// How long a fetch waits for records.
const fetchMs = 500;

interface Following {
  from: Position;
  follower: Follower;
  signal: AbortSignal;
  sinceMs: number;
  /** Of the last record that was read of each partition. */
  epochs: Map<Partition, number>;
  /** Since when an open transaction has hidden the next records of a partition. */
  held: Map<Partition, number>;
}

/** Since when the first record that is not read yet could have been. */
function unreadSince(partition: Partition, { from, sinceMs }: Following): number | null {
  const at = from[partition.topic][partition.partition]!;
  const end = stableEnd(partition);
  if (at >= end) return null;
  const first = partition.records.find(({ offset }) => offset >= at && offset < end);
  return first ? Math.max(sinceMs, clampedMs(first.delivered.timestampMs), partition.endedMs) : null;
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const copy = [...items];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = random.int(0, i);
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}
