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
export function logReader(log: SimulatedLog, process: SimulatedProcess, random: Random) {
  const { clock } = process;
  const grown = new WakeUp();
  /** The topics' ids as they were at first. */
  let first: string | null = null;
  let read: Following | null = null;

  const ids = (): string => topicNames.map((topic) => log.ids[topic]).join(' ');
  const hasDivergedFrom = (each: Partition, { from, epochs }: Following): boolean =>
    hasDiverged(each, from[each.topic][each.partition]!, epochs.get(each));

  function assertNotAnew(): void {
    if (first !== ids()) throw new PartitionsChangedError('A topic was deleted and made again');
  }

  function assertNotDiverged(each: Partition, following: Following): void {
    assertNotAnew();
    if (!hasDivergedFrom(each, following)) return;
    throw new LogTruncatedError(`${each.topic}/${each.partition} has lost records that were read`);
  }

  async function untilAnswered(): Promise<void> {
    do await clock.sleep(random.int(1, 20));
    while (log.hangs || log.frozenSinceMs !== null);
    first ??= ids();
    assertNotAnew();
  }

  function status(): LogStatus | null {
    if (!read) return null;
    const { sinceMs, held } = read;
    const nowMs = clock.nowMs();
    const askedMs = log.frozenSinceMs === null ? null : Math.max(log.frozenSinceMs, sinceMs);
    const silentSinceMs = askedMs !== null && nowMs - askedMs > silentMs ? askedMs : null;
    const partitions = log.partitions.map((each): LogStatus['partitions'][number] => {
      const { topic, partition, end } = each;
      const heldSinceMs = held.get(each);
      const isHeldBack = heldSinceMs !== undefined && nowMs - heldSinceMs >= heldBackMs;
      return {
        topic,
        partition,
        end,
        unreadSinceMs: heldSinceMs ?? unreadSince(each, read!) ?? silentSinceMs,
        waits: isHeldBack ? { for: 'transaction', sinceMs: heldSinceMs } : null,
      };
    });
    return { partitions, silentSinceMs };
  }

  async function follow(following: Following): Promise<void> {
    const { from, follower, signal, epochs } = following;
    while (!signal.aborted) {
      let moved = false;
      const stops = [grown.wait()];
      const isFrozen = (): boolean => log.frozenSinceMs !== null;
      for (const each of isFrozen() ? [] : log.partitions) assertNotDiverged(each, following);
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
        assertNotDiverged(each, following);
        const upTo = Math.min(stableEnd(each), hold?.offset ?? Number.POSITIVE_INFINITY);
        const nextOffset = Math.min(at + random.int(1, 6), upTo);
        if (nextOffset <= at) continue;
        const records = each.records.filter(({ offset }) => offset >= at && offset < nextOffset);
        epochs.set(each, epochAt(each, nextOffset - 1));
        from[topic][partition] = nextOffset;
        moved = true;
        await follower.onBatch({ topic, partition, records: records.map(({ delivered }) => delivered), nextOffset });
        // Other partitions may be late.
        if (random.chance(0.3)) await clock.sleep(random.chance(0.1) ? random.int(1, 300) : random.unit() * 5);
      }
      if (!moved) await wait(signal, ...stops);
    }
  }

  /** Notes partitions whose next records an open transaction hides, and says so once that has lasted. */
  async function noteHeldBack({ from, follower, signal, held }: Following): Promise<void> {
    const said = new Set<Partition>();
    while (!signal.aborted) {
      for (const each of log.partitions) {
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

  const adapter: EventLog = {
    bounds: async () => {
      await untilAnswered();
      return log.bounds();
    },
    identity: async () => {
      await untilAnswered();
      return first!;
    },
    follow: async (from, follower, signal) => {
      const following = { from, follower, signal, sinceMs: clock.nowMs(), epochs: new Map(), held: new Map() };
      // A second one reads bad records again.
      read ??= following;
      void noteHeldBack(following);
      await follow(following);
    },
    status,
    close: async () => {},
  };
  return {
    adapter,
    /** The log has grown, or changed otherwise: the process hears of it soon. */
    changed(): void {
      if (process.alive) log.timeline.after(random.unit() * 3, () => process.run('log', () => grown.notify()));
    },
    /** It has read records that are gone since, and has not ended of it yet. */
    hasReadLostRecords: (): boolean =>
      process.alive &&
      read !== null &&
      (first !== ids() || log.partitions.some((each) => hasDivergedFrom(each, read!))),
  };
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
