import { defaultPartitioners, type Partitioners } from '../../schemas/events/partitioner.ts';
import { type TopicName, topicNames } from '../../schemas/events/records.ts';
import { Fold } from '../facts/fold.ts';
import type { EventLog, Hold, LogBatch, LogBounds, Position, RejectSink } from '../ports/event-log.ts';
import { copyPosition, offsetsBelow, partitionsBehind, positionOf } from '../position/position.ts';
import { PositionBarriers } from '../position/settled-position.ts';
import { type RetryDeps, WakeUp } from '../running/waiting.ts';
import { Intake, type IntakeDeps } from './intake.ts';
import { MisplacedRecords, misplacedFix } from './misplaced-records.ts';

const askEveryMs = 1_000;
const progressEveryMs = 10_000;

interface FoldingDeps extends RetryDeps, Pick<IntakeDeps, 'metrics' | 'status' | 'waits'> {
  eventLog: EventLog;
  /** Null: bad records are counted, and set aside nowhere. */
  rejects: RejectSink | null;
  /** How producers map keys to partitions. As Java's do, if absent. */
  partitioners?: Partitioners;
}

/** The fold under way: the facts, how far they go, and how far they may go. It lasts from one term to the next. */
export class Folding {
  readonly fold: Fold;
  readonly position: Position;
  /** Where the log began. */
  readonly begin: Position;
  readonly barriers: PositionBarriers;
  readonly intake: Intake;
  /** Notified after each batch. */
  readonly moved = new WakeUp();
  readonly #deps: FoldingDeps;
  readonly misplaced: MisplacedRecords;
  readonly #waiting = new Set<string>();
  readonly #listeners = new Set<(batch: LogBatch) => void>();
  #limit: Position | null;
  readonly #limitMoved = new WakeUp();
  #batches = 0;

  /** `limit`: how far it may fold for now. Null: as far as the log goes. */
  constructor(bounds: LogBounds, limit: Position | null, deps: FoldingDeps, fold = new Fold()) {
    this.#deps = deps;
    this.fold = fold;
    this.position = positionOf(bounds, 'low');
    this.begin = positionOf(bounds, 'low');
    this.#limit = limit;
    this.barriers = new PositionBarriers(copyPosition(this.position));
    this.intake = new Intake({ ...deps, fold: this.fold, sink: deps.rejects, barriers: this.barriers });
    this.misplaced = new MisplacedRecords(deps.partitioners ?? defaultPartitioners);
  }

  /** How far the log may be folded: a standby goes no further than the leader's position. Null: as far as the log goes. */
  get limit(): Position | null {
    return this.#limit;
  }

  set limit(limit: Position | null) {
    this.#limit = limit;
    this.#limitMoved.notify();
  }

  /** Follows the log until told to stop. Rejects with the log's own faults. */
  follow(signal: AbortSignal): Promise<void> {
    return this.#deps.eventLog.follow(
      copyPosition(this.position),
      {
        onBatch: (batch) => this.#take(batch),
        onWaiting: (topic, partition, waiting) => this.#setWaiting(`${topic}/${partition}`, waiting),
        hold: (topic, partition) => this.#hold(topic, partition),
      },
      signal,
    );
  }

  /** Calls a listener after each batch, in the turn of the event loop that folds it. The returned function ends this. */
  subscribe(listener: (batch: LogBatch) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #hold(topic: TopicName, partition: number): Hold | null {
    const offset = this.#limit?.[topic][partition];
    return offset === undefined ? null : { offset, moved: this.#limitMoved.wait() };
  }

  /** Whether a partition is not folded up to its end. Ignores partitions that wait for something outside the log. */
  isBehind(ends: Position): boolean {
    return partitionsBehind(this.position, ends).some((partition) => !this.#waiting.has(partition));
  }

  /**
   * Resolves once the log is folded up to these ends, or when told to stop. It does not wait for records that the log has
   * lost meanwhile.
   */
  async foldTo(ends: Position, signal: AbortSignal): Promise<void> {
    const wanted = copyPosition(ends);
    const sayProgress = foldProgress(copyPosition(this.position), ends, this.#deps);
    let asking = false;
    while (!signal.aborted && this.isBehind(wanted)) {
      sayProgress(this.position);
      const before = this.#batches;
      await this.moved.waitAtMost(askEveryMs, this.#deps.clock, signal);
      // Not waited for: another partition's broker may be away.
      if (this.#batches > before || asking) continue;
      asking = true;
      void this.#lower(wanted).then(() => {
        asking = false;
      });
    }
  }

  #countMisplaced({ topic, records }: LogBatch): void {
    const isFirst = !this.misplaced.found.has(topic);
    const partitions = this.position[topic].length;
    const count = records.filter((record) => this.misplaced.take(record, partitions)).length;
    if (count === 0) return;
    this.#deps.metrics.misplaced(topic, count);
    if (isFirst) this.#deps.log.warn(`${this.misplaced.line(topic)}; ${misplacedFix}`);
  }

  /**
   * Lowers ends to those that the log still has: an unclean election or a restored broker may have cut it. It does not wake
   * `foldTo`, which would ask again at once, over and over.
   */
  async #lower(wanted: Position): Promise<void> {
    const bounds = await this.#deps.eventLog.bounds().catch(() => null);
    if (!bounds) return;
    const ends = positionOf(bounds, 'end');
    for (const topic of topicNames) {
      wanted[topic] = wanted[topic].map((end, partition) => Math.min(end, ends[topic][partition] ?? end));
    }
  }

  async #take(batch: LogBatch): Promise<void> {
    // A hold may be at an offset that is folded already.
    if (batch.nextOffset <= this.position[batch.topic][batch.partition]! && batch.records.length === 0) return;
    this.#countMisplaced(batch);
    const taken = this.intake.take(batch);
    // In the same turn as the facts and their sum.
    this.position[batch.topic][batch.partition] = batch.nextOffset;
    for (const listener of this.#listeners) listener(batch);
    await taken;
    this.#batches += 1;
    this.moved.notify();
  }

  #setWaiting(partition: string, waiting: boolean): void {
    if (waiting) this.#waiting.add(partition);
    else this.#waiting.delete(partition);
    this.moved.notify();
  }
}

/** Logs every ten seconds how far the fold of the log is, so that a long start does not look like a hang. */
function foldProgress(from: Position, ends: Position, { clock, log }: Pick<RetryDeps, 'clock' | 'log'>) {
  let saidMs = clock.nowMs();
  const below = offsetsBelow(from);
  const total = offsetsBelow(ends) - below;
  return (position: Position): void => {
    const nowMs = clock.nowMs();
    if (nowMs - saidMs < progressEveryMs) return;
    saidMs = nowMs;
    // The log may have grown since its ends were sampled.
    const done = Math.min(offsetsBelow(position) - below, total);
    log.info(`Reading the log: ${Math.floor((done * 100) / total)} % of ${total} offsets`);
  };
}
