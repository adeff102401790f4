import type { ManifestWriterSchema } from '../../infra/archive/format/archive-manifest.ts';
import { GrowingArchive, type SavedState } from '../../infra/archive/saving/growing-archive.ts';
import type { MisplacedRecords } from '../../projector/intake/misplaced-records.ts';
import { decoded } from '../../projector/ports/decoded-record.ts';
import type { EventLog, LogBatch, Reject } from '../../projector/ports/event-log.ts';
import { positionOf } from '../../projector/position/position.ts';
import { race, Stop } from '../../projector/running/stop.ts';
import { byTopic, defaultTopicPrefix, topicNames } from '../../schemas/events/records.ts';
import { UsageError } from '../cli/io.ts';
import type { Part } from '../cli/progress.ts';
import { assertNoGap, isExactAt } from './exact-since.ts';

export interface SaveOptions {
  signal: AbortSignal;
  /** How far it is, in offsets. Some offsets may have no record. */
  onProgress?: (part: Part) => void;
  prefix?: string;
  /** How long the log keeps superseded records at least: after a longer gap, some may be missing. 0 if absent. */
  compactionLagMs?: () => Promise<number>;
  /** Goes on after a longer gap: then `exact_since` moves to the start of this save. */
  afterGap?: boolean;
  /** The schema of a value that is kept as it came. */
  schemaOf?: (value: Buffer) => ManifestWriterSchema | null;
  /** Takes each record that is saved. */
  misplaced?: MisplacedRecords;
  /** Goes on until the signal aborts. */
  follow?: boolean;
  /** Called when the manifest has been updated. `isComplete`: with everything that the log had when last asked. */
  onCheckpoint?: (result: SaveResult, isComplete: boolean) => void;
}

interface SaveResult {
  records: number;
  /** Bad records that came with them, and were not there before. */
  rejected: number;
  /** Since when the archive has every record that was published. Null: not known yet. */
  exact_since: string | null;
}

/** So often the manifest is updated. What a save that is killed wrote after it is saved again by the next one. */
const checkpointEveryMs = 30_000;

/** Reads the log's bad records since the last call, some at a time. */
type ReadRejected = (onRejects: (rejects: Reject[]) => Promise<void>) => Promise<void>;

/**
 * Saves a log as an archive. Partitions, offsets, timestamps and headers are kept, and so are parts of values that our
 * schema does not have. It ends at the ends that the log had at the start, or follows the log. Bad records are added
 * to the existing ones, each once. If the archive holds an earlier part of the same log and matches its manifest, it is
 * added to (docs/rules.md#archive-save). Throws UsageError if it can't be, and the signal's reason if it ends early.
 */
export async function archiveSave(
  log: EventLog,
  readRejected: ReadRejected,
  dir: string,
  options: SaveOptions,
): Promise<SaveResult> {
  const startedMs = Date.now();
  const { prefix = defaultTopicPrefix, schemaOf = () => null, follow = false, signal } = options;
  // The log may be away. Requests to it wait, but must not outlast the signal.
  const ask = Promise.all([log.bounds(), log.identity?.() ?? null, options.compactionLagMs?.() ?? 0]);
  const [bounds, identity, compactionLagMs] = await race(signal, ask);
  const archive = await GrowingArchive.open({ dir, prefix, schemaOf, signal });
  const { log: savedLog, exact_since, saved_until } = archive.manifest;
  const partitions = byTopic((topic) => bounds[topic].length);
  const position = positionOf(bounds, 'low');
  let state: SavedState = { log: identity ?? savedLog, exact_since, saved_until };
  let [records, rejected, total] = [0, 0, 0];
  /** Whether it has reached the ends sampled at the start. */
  let hasArrived = false;
  /** One checkpoint at a time. Null: none is in progress. */
  let checkpoint: Promise<void> | null = null;

  const result = (): SaveResult => ({ records, rejected, exact_since: state.exact_since });
  const report = (): void => options.onProgress?.({ done: total - left(), total });

  /** The number of offsets from the position to the ends. */
  const left = (to = bounds): number =>
    topicNames
      .flatMap((topic) => to[topic].map(({ end }, partition) => Math.max(0, end - position[topic][partition]!)))
      .reduce((sum, one) => sum + one, 0);

  async function save(): Promise<void> {
    begin();
    total = left();
    const done = new Stop([signal]);
    const faults: unknown[] = [];
    const say = () =>
      sayWhatIsSaved().catch((error) => {
        faults.push(error);
        done.stop();
      });
    const timer = setInterval(say, checkpointEveryMs);
    report();
    try {
      const onBatch = async (batch: LogBatch) => {
        const before = left();
        take(batch);
        report();
        if (left() > 0) return;
        if (!follow) done.stop();
        else if (before > 0) void say();
      };
      if (total === 0 && follow) void say();
      if (total > 0 || follow) await log.follow(structuredClone(position), { onBatch }, done.signal);
    } finally {
      clearInterval(timer);
      done.end();
      await checkpoint?.catch(() => undefined);
    }
    if (faults.length > 0) throw faults[0];
    await sayWhatIsSaved();
    if (!follow) signal.throwIfAborted();
  }

  /** Creates every partition, also empty ones, and moves the position to where to continue reading in each. */
  function begin(): void {
    if (savedLog !== null && identity !== null && savedLog !== identity)
      throw new UsageError(
        'Cannot save to the archive: it is of another log, or the topics were deleted and made again since; save to an empty folder',
      );
    if (!options.afterGap) assertNoGap(state, startedMs, compactionLagMs);
    for (const topic of topicNames) {
      const had = archive.partitions(topic);
      const has = bounds[topic].length;
      if (had !== null && had !== has)
        throw new UsageError(
          `Cannot save to the archive: ${topic} has ${has} partitions in the log, and ${had} in the archive; it is no archive of this log, or the topic grew: save to an empty folder`,
        );
      position[topic] = bounds[topic].map(({ low, end }, partition) => {
        const { nextOffset: next, last } = archive.ledger(topic, partition);
        if (next === null) return low;
        if (next < low || next > end)
          throw new UsageError(
            `Cannot save to the archive: its ${topic}/${partition} goes on to offset ${next - 1}, the log holds ${low} to ${end - 1}; it is no archive of this log, or too old to go on with: save to an empty folder`,
          );
        // The last record is read again. If it is a different one now, the log was truncated or recreated.
        return Math.max(low, last?.offset ?? next);
      });
    }
    // Before the first record: if this process is killed, the manifest shows that the save did not finish, and no longer
    // that `simulate` made all records.
    archive.begin(partitions, state);
    for (const topic of topicNames)
      for (const [i, { low }] of bounds[topic].entries()) archive.addPartition(topic, i, low);
  }

  function take({ topic, partition, records: some, nextOffset }: LogBatch): void {
    const end = follow ? Number.POSITIVE_INFINITY : bounds[topic][partition]!.end;
    const { nextOffset: savedTo, last } = archive.ledger(topic, partition);
    const bad: Reject[] = [];
    for (const one of some) {
      const { offset, timestampMs } = one;
      if (offset >= end) break;
      if (offset < (savedTo ?? 0)) {
        if (offset !== last?.offset || timestampMs === last.timestampMs) continue;
        throw new UsageError(
          `Cannot save to the archive: its last record of ${topic}/${partition}, at offset ${last.offset}, is another one in the log, which was cut off or made anew since; save to an empty folder`,
        );
      }
      options.misplaced?.take(one, partitions[topic]);
      const record = decoded(one);
      if ('undecodable' in record) {
        bad.push({ topic, partition, offset, timestampMs, reason: record.undecodable, raw: record.raw() });
      } else {
        archive.append(topic, record);
        records++;
      }
    }
    rejected += archive.reject(bad);
    archive.reached(topic, partition, Math.min(nextOffset, end));
    position[topic][partition] = nextOffset;
  }

  /** Updates the manifest. If the log's ends are reached, it says that this was everything. */
  async function sayWhatIsSaved(): Promise<void> {
    checkpoint ??= writeCheckpoint().finally(() => {
      checkpoint = null;
    });
    await checkpoint;
  }

  async function writeCheckpoint(): Promise<void> {
    const atMs = await readOn();
    // No await from here on: the manifest must match the files.
    if (atMs !== null) {
      const at = new Date(atMs).toISOString();
      // While following, records are read as they come.
      const followedMs = atMs === startedMs ? 0 : 3 * checkpointEveryMs;
      // After a gap in which the log may have compacted records away, `exact_since` starts anew.
      const stays = isExactAt(state, atMs, Math.max(compactionLagMs, followedMs));
      state = { ...state, exact_since: stays ? state.exact_since : at, saved_until: at };
    }
    archive.checkpoint(partitions, state);
    options.onCheckpoint?.(result(), atMs !== null);
  }

  /** Adds bad records. Returns the instant up to which all records are saved, or null if it is not known. */
  async function readOn(): Promise<number | null> {
    // After it was told to stop, it asks the log for nothing more.
    if (signal.aborted) return null;
    try {
      const sampledMs = hasArrived ? Date.now() : startedMs;
      const ends = hasArrived ? await race(signal, log.bounds()) : bounds;
      const add = async (rejects: Reject[]): Promise<void> => {
        if (!signal.aborted) rejected += archive.reject(rejects);
      };
      await race(signal, readRejected(add));
      if (left(ends) > 0) return null;
      hasArrived = true;
      return sampledMs;
    } catch (error) {
      if (!signal.aborted) throw error;
      return null;
    }
  }

  await save().catch(async (cause) => {
    // Closing fails for the same reason.
    await archive.close().catch(() => undefined);
    throw cause;
  });
  await archive.close();
  return result();
}
