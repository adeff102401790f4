import { archiveEventLog } from '../../../infra/archive/archive-event-log.ts';
import { archiveRejected } from '../../../infra/archive/archive-reject-sink.ts';
import { placeOf } from '../../../infra/reject-places.ts';
import type { EventLog, LogBounds, Position, Reject } from '../../../projector/ports/event-log.ts';
import type { LogPublisher } from '../../../projector/ports/log-publisher.ts';
import { positionOf } from '../../../projector/position.ts';
import { defaultTopicPrefix, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { UsageError } from '../command/io.ts';
import type { Part } from '../command/progress.ts';
import { type LoadedRecord, type LoadSource, loadSequence } from './load-sequence.ts';
import { type LoadStart, loadStart } from './load-start.ts';
import { RawValues, type Register } from './raw-values.ts';
import { SplitKeyFinder, type SplitKeys } from './split-keys.ts';

/** What an archive can be loaded into. */
export interface LoadTarget {
  publisher: LogPublisher;
  /** The same log, to read what it holds. */
  log: EventLog;
  /** Registers the schemas of values. Null without a schema registry. */
  register: Register | null;
}

export interface LoadOptions {
  /** Also after records of other producers. */
  append: boolean;
  /** Keep the archive's partition numbers. */
  keepPartitions: boolean;
  signal: AbortSignal;
  /** How far it is, in offsets. Some offsets may have no record. */
  onProgress?: (part: Part) => void;
  log?: { warn(message: string): void };
  /** Called before the topics' records are compared with the archive, which takes a while. */
  onCompare?: () => void;
}

interface LoadResult {
  records: number;
  /** Bad records that came with them, and were not there before. */
  rejected: number;
  /** Records that an earlier, stopped load has published. */
  before: number;
  splitKeys: SplitKeys[];
}

/** How many records are published at once, and how many bad ones. */
const recordsMax = 5_000;
const rejectsMax = 500;

/**
 * Publishes an archive's records, up to its present ends, each to the partition that Kafka's own producer would choose
 * (docs/rules.md#archive-load). A topic's partitions are merged by time. The order of each key's records, timestamps,
 * headers and values are kept. Offsets are assigned by the log.
 *
 * A load that was stopped continues where it stopped, which it finds out from what the topics hold.
 *
 * Bad records go to the log's bad records, except those that are in its topics too: the projector that folds them
 * rejects them again, at their new offsets.
 *
 * Throws UsageError: before anything is published if the topics hold other records or their partitions do not
 * fit, and later if another producer publishes at the same time.
 */
export async function archiveLoad(
  { dir, prefix = defaultTopicPrefix }: { dir: string; prefix?: string },
  target: LoadTarget,
  options: LoadOptions,
): Promise<LoadResult> {
  const { append, keepPartitions, signal, log } = options;
  const archive = archiveEventLog({ dir, prefix, named: 'archive load', ...(log && { log }) });
  const bounds = await archive.bounds().finally(() => archive.close());
  const there = await target.log.bounds();
  if (keepPartitions) checkPartitions(bounds, there);
  const rawValues = RawValues.of(dir, target.register);
  const source: LoadSource = { dir, prefix, bounds, there, keepPartitions, rawValues, signal };
  if (holdsAny(there)) options.onCompare?.();
  const start = await loadStart(source, target.log, append);
  const loading = new Loading(source, start, target.publisher, options);
  for (const reject of archiveRejected({ dir, prefix })) loading.bad.set(placeOf(reject), reject);
  for (const topic of topicNames) await loading.topic(topic);
  await loading.rejected();
  return loading.result;
}

const holdsAny = (bounds: LogBounds): boolean =>
  topicNames.some((topic) => bounds[topic].some(({ low, end }) => low < end));

function checkPartitions(archive: LogBounds, there: LogBounds): void {
  for (const topic of topicNames) {
    const [has, needs] = [there[topic].length, archive[topic].length];
    if (has === needs || archive[topic].every(({ low, end }) => low === end)) continue;
    throw new UsageError(
      `Cannot load the archive with --keep-partitions: ${topic} has ${has} partitions in the log and ${needs} in the archive; make the topic with ${needs}, or leave --keep-partitions out: each key then goes where Kafka's own producer puts it`,
    );
  }
}

/** One load, topic by topic. */
class Loading {
  readonly result: LoadResult = { records: 0, before: 0, rejected: 0, splitKeys: [] };
  /** Bad records that are not in the topics, by place and timestamp, each once. */
  readonly bad = new Map<string, Reject>();
  readonly #source: LoadSource;
  readonly #start: LoadStart;
  /** The offset of each partition's next record. */
  readonly #next: Position;
  readonly #publisher: LogPublisher;
  readonly #onProgress: (taken: number) => void;
  #taken = 0;
  #publishing: Promise<void> = Promise.resolve();

  constructor(source: LoadSource, start: LoadStart, publisher: LogPublisher, options: LoadOptions) {
    this.#source = source;
    this.#start = start;
    this.#next = positionOf(source.there, 'end');
    this.#publisher = publisher;
    const total = topicNames.flatMap((topic) => source.bounds[topic]).reduce((sum, { low, end }) => sum + end - low, 0);
    this.#onProgress = (done) => options.onProgress?.({ done: Math.min(done, total), total });
    this.#onProgress(0);
  }

  async topic(topic: TopicName): Promise<void> {
    const before = [...this.#start[topic]];
    const finder = this.#source.bounds[topic].length > 1 ? new SplitKeyFinder(topic) : null;
    const batch: LoadedRecord[] = [];
    await loadSequence(this.#source, topic, (record, from) => {
      this.#taken++;
      finder?.note(record.key, from.partition);
      if (this.bad.size > 0) this.bad.delete(placeOf(from));
      if (before[record.partition]! > 0) {
        before[record.partition]!--;
        this.result.before++;
        return undefined;
      }
      if (batch.push(record) < recordsMax) return undefined;
      return this.#publish(topic, batch.splice(0));
    });
    await this.#publish(topic, batch);
    await this.#publishing;
    if (finder?.found) this.result.splitKeys.push(finder.found);
    this.#onProgress(this.#taken);
  }

  async rejected(): Promise<void> {
    const rejects = [...this.bad.values()];
    for (let i = 0; i < rejects.length; i += rejectsMax) {
      this.result.rejected += await this.#publisher.publishRejected(rejects.slice(i, i + rejectsMax));
    }
  }

  /** Waits for the batch before. The next batch is read and encoded while one is in flight. */
  async #publish(topic: TopicName, batch: LoadedRecord[]): Promise<void> {
    await this.#publishing;
    this.#source.signal.throwIfAborted();
    if (batch.length === 0) return;
    const taken = this.#taken;
    this.#publishing = this.#publisher.publish(topic, batch).then((first) => {
      this.#checkPlaces(topic, batch, first);
      this.result.records += batch.length;
      this.#onProgress(taken);
    });
    // Its error is thrown by the code that awaits it.
    this.#publishing.catch(() => undefined);
  }

  /** There must be no records of other producers among ours: a load that continues would take them for ours. */
  #checkPlaces(topic: TopicName, batch: LoadedRecord[], first: ReadonlyMap<number, number>): void {
    const next = this.#next[topic];
    for (const [partition, offset] of first) {
      if (offset === next[partition]) continue;
      throw new UsageError(
        `Cannot go on loading the archive: ${topic}/${partition} has gone on to offset ${offset}, and ${next[partition]} was due: another producer publishes there; stop it, and load into empty topics`,
      );
    }
    for (const { partition } of batch) next[partition]!++;
  }
}
