import { type FSWatcher, watch } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { realClock } from '../../projector/ports/clock.ts';
import {
  type EventLog,
  type Follower,
  LateRecordsError,
  type LogBatch,
  type LogBounds,
  LogTruncatedError,
  PartitionsChangedError,
  type Position,
} from '../../projector/ports/event-log.ts';
import { WakeUp } from '../../projector/ports/waiting.ts';
import { defaultTopicPrefix, type TopicName, topicNames } from '../../schemas/events/records.ts';
import { ArchiveBounds } from './archive-bounds.ts';
import { archiveFolder, listArchive } from './archive-files.ts';
import { ArchivePartitionReader } from './archive-partition.ts';

export interface ArchiveEventLogOptions {
  /** Contains `<prefix><topic>/<partition>-<first offset>.avro`. */
  dir: string;
  prefix?: string;
  /** What names the folder, for messages. ARCHIVE_DIR by default. */
  named?: string;
  log?: { warn(message: string): void };
  /** How often the files are checked if the system reports no changes. */
  pollMs?: number;
  /**
   * How long a file may end within a block. After that, the last file of a partition is warned of, and any other file
   * is an error.
   */
  warnAfterMs?: number;
}

/** A partition delivers at most this many batches before the others get their turn. */
const batchesPerTurn = 64;

/**
 * The event log from an archive (docs/rules.md#archive), also one that is still being written. Faults of its files are
 * thrown as ArchiveError, with file, byte and fix.
 */
export function archiveEventLog(options: ArchiveEventLogOptions): EventLog {
  const { dir, prefix = defaultTopicPrefix, named = 'ARCHIVE_DIR', pollMs = 500, warnAfterMs } = options;
  const warn = (message: string) => options.log?.warn(message);
  const ends = new ArchiveBounds(warn);
  /** The lows of the bounds given last. A follower that starts there relies on nothing appearing before them. */
  let given: LogBounds | null = null;
  const closed = new AbortController();

  const sample = async (): Promise<LogBounds> => ends.of(await listArchive(dir, prefix, named));

  async function bounds(): Promise<LogBounds> {
    given = await sample();
    return given;
  }

  async function follow(from: Position, follower: Follower, signal: AbortSignal): Promise<void> {
    const now = await sample();
    checkPosition(from, now);
    if (given) checkLows(from, given, now);
    const stop = AbortSignal.any([signal, closed.signal]);
    const readers: ReadPartition[] = topicNames.flatMap((topic) =>
      from[topic].map((offset, partition) => ({
        topic,
        partition,
        reader: new ArchivePartitionReader({ topic, partition, from: offset, warnAfterMs, warn }),
        next: offset,
        held: null,
      })),
    );
    const watcher = new FolderWatch(pollMs);
    try {
      while (!stop.aborted) {
        watcher.add([dir, ...topicNames.map((topic) => archiveFolder(dir, prefix, topic))]);
        const listing = await listArchive(dir, prefix, named);
        for (const topic of topicNames) checkCount(topic, from[topic].length, listing[topic].length);
        let progressed = false;
        const holds: Promise<void>[] = [];
        for (const read of readers) {
          read.reader.files = listing[read.topic][read.partition] ?? [];
          if (await deliver(read, follower, holds, stop)) progressed = true;
        }
        if (!progressed) await Promise.race([watcher.wait(stop), ...holds]);
      }
    } finally {
      watcher.close();
      for (const { reader } of readers) await reader.close();
    }
  }

  return {
    bounds,
    follow,
    close: async () => closed.abort(),
  };
}

interface ReadPartition {
  topic: TopicName;
  partition: number;
  reader: ArchivePartitionReader;
  /** The offset after what was handed over. */
  next: number;
  /** What is read and may not be handed over yet. */
  held: LogBatch | null;
}

/**
 * Hands over what a partition has, up to a turn's batches. False if it had nothing, or is held: then what it waits for is
 * among `holds`.
 */
async function deliver(
  from: ReadPartition,
  follower: Follower,
  holds: Promise<void>[],
  stop: AbortSignal,
): Promise<boolean> {
  for (let batches = 0; batches < batchesPerTurn; batches++) {
    if (stop.aborted) return true;
    const batch = from.held ?? (await from.reader.next());
    if (!batch) return batches > 0;
    const hold = follower.hold?.(from.topic, from.partition) ?? null;
    const held = hold && hold.offset < batch.nextOffset ? hold : null;
    const records = held ? batch.records.filter(({ offset }) => offset < held.offset) : batch.records;
    const nextOffset = held?.offset ?? batch.nextOffset;
    from.held = held && { ...batch, records: batch.records.slice(records.length) };
    const moves = nextOffset > from.next;
    if (moves) {
      from.next = nextOffset;
      await follower.onBatch({ ...batch, records, nextOffset });
    }
    if (held) {
      holds.push(held.moved);
      return moves;
    }
    // Timers and sockets get their turn, however long the archive is.
    await setImmediate();
  }
  return true;
}

function checkPosition(from: Position, bounds: LogBounds): void {
  for (const topic of topicNames) {
    checkCount(topic, from[topic].length, bounds[topic].length);
    for (const [partition, { low, end }] of bounds[topic].entries()) {
      const next = from[topic][partition]!;
      if (next >= low && next <= end) continue;
      throw new LogTruncatedError(
        `Cannot read ${topic}/${partition} of the archive from offset ${next}: it holds ${low} to ${end - 1}`,
      );
    }
  }
}

/** A file may have appeared since the bounds were given. A follower that starts at those bounds would never read it. */
function checkLows(from: Position, given: LogBounds, now: LogBounds): void {
  for (const topic of topicNames) {
    for (const [partition, { low }] of now[topic].entries()) {
      const had = given[topic][partition];
      if (!had || from[topic][partition] !== had.low || low >= had.low) continue;
      throw new LateRecordsError(`${topic}/${partition} of the archive begins at offset ${low} now: it was ${had.low}`);
    }
  }
}

function checkCount(topic: TopicName, had: number, has: number): void {
  if (had === has) return;
  throw new PartitionsChangedError(
    `${topic} has ${has} partitions in the archive, and had ${had}: a key may now be in two partitions, so fold it again from its start`,
  );
}

/**
 * Waits for changes in folders. The system's notifications are quick but not reliable (network file systems send none,
 * folders come and go), so a wait ends after `pollMs` at the latest.
 */
class FolderWatch {
  readonly #pollMs: number;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #wakeUp = new WakeUp();
  #changed = false;

  constructor(pollMs: number) {
    this.#pollMs = pollMs;
  }

  /** Watches these folders as well, if they exist. */
  add(folders: readonly string[]): void {
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#notify());
        watcher.on('error', () => this.#drop(folder));
        this.#watchers.set(folder, watcher);
      } catch {
        // The folder does not exist, or there are no more watches. The poll finds changes.
      }
    }
  }

  /** Resolves after a change since the last wait, after `pollMs`, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#changed) await this.#wakeUp.waitAtMost(this.#pollMs, realClock, signal);
    this.#changed = false;
  }

  close(): void {
    for (const folder of [...this.#watchers.keys()]) this.#drop(folder);
  }

  #notify(): void {
    this.#changed = true;
    this.#wakeUp.notify();
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }
}
