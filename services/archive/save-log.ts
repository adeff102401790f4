import type { ManifestWriterSchema } from '../../infra/archive/format/archive-manifest.ts';
import { GrowingArchive, type SavedState } from '../../infra/archive/saving/growing-archive.ts';
import type { MisplacedRecords } from '../../projector/intake/misplaced-records.ts';
import { decoded } from '../../projector/ports/decoded-record.ts';
import type {
  EncodedRecord,
  EventLog,
  LogBatch,
  LogBounds,
  Position,
  Reject,
} from '../../projector/ports/event-log.ts';
import { race, Stop } from '../../projector/running/stop.ts';
import { byTopic, defaultTopicPrefix, type TopicName, topicNames } from '../../schemas/events/records.ts';
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
  const { prefix = defaultTopicPrefix, schemaOf = () => null, signal } = options;
  // The log may be away. Requests to it wait, but must not outlast the signal.
  const ask = Promise.all([log.bounds(), log.identity?.() ?? null, options.compactionLagMs?.() ?? 0]);
  const [bounds, identity, compactionLagMs] = await race(signal, ask);
  const archive = await GrowingArchive.open({ dir, prefix, schemaOf, signal });
  const parts = { log, identity, bounds, compactionLagMs, startedMs, archive, readRejected, options };
  const save = async () => new Saving(parts).run();
  const result = await save().catch(async (cause) => {
    // Closing fails for the same reason.
    await archive.close().catch(() => undefined);
    throw cause;
  });
  await archive.close();
  return result;
}

interface SavingParts {
  log: EventLog;
  identity: string | null;
  bounds: LogBounds;
  compactionLagMs: number;
  startedMs: number;
  archive: GrowingArchive;
  readRejected: ReadRejected;
  options: SaveOptions;
}

/** One run of `archive save`. */
class Saving {
  readonly #parts: SavingParts;
  readonly #position: Position;
  readonly #partitions: Record<TopicName, number>;
  readonly #total: number;
  #records = 0;
  #rejected = 0;
  /** Whether it has reached the ends sampled at the start. */
  #arrived = false;
  #state: SavedState;
  /** One checkpoint at a time. Null: none is in progress. */
  #checkpoint: Promise<void> | null = null;

  constructor(parts: SavingParts) {
    this.#parts = parts;
    const { archive, bounds, identity } = parts;
    const { log, exact_since, saved_until } = archive.manifest;
    this.#state = { log: identity ?? log, exact_since, saved_until };
    if (log !== null && identity !== null && log !== identity)
      throw new UsageError(
        'Cannot save to the archive: it is of another log, or the topics were deleted and made again since; save to an empty folder',
      );
    if (!parts.options.afterGap) assertNoGap(this.#state, parts.startedMs, parts.compactionLagMs);
    this.#partitions = byTopic((topic) => bounds[topic].length);
    this.#position = this.#begin();
    this.#total = this.#left();
  }

  async run(): Promise<SaveResult> {
    const { log, options } = this.#parts;
    const { follow = false, signal } = options;
    const done = new Stop([signal]);
    const faults: unknown[] = [];
    const checkpoint = () =>
      this.#sayWhatIsSaved().catch((error) => {
        faults.push(error);
        done.stop();
      });
    const timer = setInterval(checkpoint, checkpointEveryMs);
    this.#report();
    try {
      const onBatch = async (batch: LogBatch) => {
        const left = this.#left();
        this.#save(batch);
        this.#report();
        if (this.#left() > 0) return;
        if (!follow) done.stop();
        else if (left > 0) void checkpoint();
      };
      if (this.#total === 0 && follow) void checkpoint();
      if (this.#total > 0 || follow) await log.follow(structuredClone(this.#position), { onBatch }, done.signal);
    } finally {
      clearInterval(timer);
      done.end();
      await this.#checkpoint?.catch(() => undefined);
    }
    if (faults.length > 0) throw faults[0];
    await this.#sayWhatIsSaved();
    if (!follow) signal.throwIfAborted();
    return this.#result();
  }

  /** Creates every partition, also empty ones. Returns where to continue reading in each. */
  #begin(): Position {
    const { archive, bounds } = this.#parts;
    const from: Partial<Position> = {};
    for (const topic of topicNames) {
      const had = archive.partitions(topic);
      const has = bounds[topic].length;
      if (had !== null && had !== has)
        throw new UsageError(
          `Cannot save to the archive: ${topic} has ${has} partitions in the log, and ${had} in the archive; it is no archive of this log, or the topic grew: save to an empty folder`,
        );
      from[topic] = bounds[topic].map(({ low, end }, partition) => {
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
    archive.begin(this.#partitions, this.#state);
    for (const topic of topicNames)
      for (const [i, { low }] of bounds[topic].entries()) archive.addPartition(topic, i, low);
    return from as Position;
  }

  #save({ topic, partition, records, nextOffset }: LogBatch): void {
    const { archive, bounds, options } = this.#parts;
    const end = options.follow ? Number.POSITIVE_INFINITY : bounds[topic][partition]!.end;
    const savedTo = archive.ledger(topic, partition).nextOffset ?? 0;
    const bad: Reject[] = [];
    for (const one of records) {
      const { offset, timestampMs } = one;
      if (offset >= end) break;
      if (offset < savedTo) {
        this.#compare(topic, partition, one);
        continue;
      }
      options.misplaced?.take(one, this.#partitions[topic]);
      const record = decoded(one);
      if ('undecodable' in record) {
        bad.push({ topic, partition, offset, timestampMs, reason: record.undecodable, raw: record.raw() });
      } else {
        archive.append(topic, record);
        this.#records++;
      }
    }
    this.#rejected += archive.reject(bad);
    archive.reached(topic, partition, Math.min(nextOffset, end));
    this.#position[topic][partition] = nextOffset;
  }

  #compare(topic: TopicName, partition: number, one: EncodedRecord): void {
    const { last } = this.#parts.archive.ledger(topic, partition);
    if (one.offset !== last?.offset || one.timestampMs === last.timestampMs) return;
    throw new UsageError(
      `Cannot save to the archive: its last record of ${topic}/${partition}, at offset ${last.offset}, is another one in the log, which was cut off or made anew since; save to an empty folder`,
    );
  }

  /** Updates the manifest. If the log's ends are reached, it says that this was everything. */
  async #sayWhatIsSaved(): Promise<void> {
    this.#checkpoint ??= this.#writeCheckpoint().finally(() => {
      this.#checkpoint = null;
    });
    await this.#checkpoint;
  }

  async #writeCheckpoint(): Promise<void> {
    const { archive, options } = this.#parts;
    const atMs = await this.#readOn();
    // No await from here on: the manifest must match the files.
    if (atMs !== null) this.#state = { ...this.#state, ...this.#savedUntil(atMs) };
    archive.checkpoint(this.#partitions, this.#state);
    options.onCheckpoint?.(this.#result(), atMs !== null);
  }

  /** Adds bad records. Returns the instant up to which all records are saved, or null if it is not known. */
  async #readOn(): Promise<number | null> {
    const { log, bounds, startedMs, archive, readRejected, options } = this.#parts;
    const { signal } = options;
    // After it was told to stop, it asks the log for nothing more.
    if (signal.aborted) return null;
    try {
      const sampledMs = this.#arrived ? Date.now() : startedMs;
      const ends = this.#arrived ? await race(signal, log.bounds()) : bounds;
      await race(
        signal,
        readRejected(async (rejects) => {
          if (!signal.aborted) this.#rejected += archive.reject(rejects);
        }),
      );
      if (this.#left(ends) > 0) return null;
      this.#arrived = true;
      return sampledMs;
    } catch (error) {
      if (!signal.aborted) throw error;
      return null;
    }
  }

  /** After a gap in which the log may have compacted records away, `exact_since` starts anew. */
  #savedUntil(atMs: number): Pick<SavedState, 'exact_since' | 'saved_until'> {
    const { compactionLagMs, startedMs } = this.#parts;
    const at = new Date(atMs).toISOString();
    // While following, records are read as they come.
    const followedMs = atMs === startedMs ? 0 : 3 * checkpointEveryMs;
    const stays = isExactAt(this.#state, atMs, Math.max(compactionLagMs, followedMs));
    return { exact_since: stays ? this.#state.exact_since : at, saved_until: at };
  }

  /** The number of offsets from the position to the ends. */
  #left(bounds = this.#parts.bounds): number {
    const left = topicNames.flatMap((topic) =>
      bounds[topic].map(({ end }, partition) => Math.max(0, end - this.#position[topic][partition]!)),
    );
    return left.reduce((sum, one) => sum + one, 0);
  }

  #report(): void {
    this.#parts.options.onProgress?.({ done: this.#total - this.#left(), total: this.#total });
  }

  #result(): SaveResult {
    return { records: this.#records, rejected: this.#rejected, exact_since: this.#state.exact_since };
  }
}
