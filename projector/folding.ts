import { topicNames } from '../schemas/events/records.ts';
import { Fold } from './facts/fold.ts';
import { PartitionWatch } from './facts/partition-watch.ts';
import { FoldProgress } from './fold-progress.ts';
import { Intake } from './intake.ts';
import { FoldLimit } from './leading/fold-limit.ts';
import type { EventLog, LogBatch, LogBounds, Position, RejectSink } from './ports/event-log.ts';
import type { ProjectorMetrics } from './ports/metrics.ts';
import { WakeUp } from './ports/waiting.ts';
import { copyPosition, partitionsBehind, positionOf } from './position.ts';
import type { RetryDeps } from './retry-logged.ts';
import type { Watching } from './watching/watching.ts';
import { PositionBarriers } from './writing/position-barriers.ts';

const lookMs = 1_000;

export interface FoldingDeps extends RetryDeps {
  eventLog: EventLog;
  /** Those of the views that are made of the facts. All by default. */
  tags?: readonly number[];
  /** Null if another shard sets bad records aside. */
  rejects: RejectSink | null;
  metrics: ProjectorMetrics;
  watching: Pick<Watching, 'turn' | 'taking' | 'took' | 'rejects' | 'rejectsSinceMs'>;
}

/** The fold under way: the facts, how far they go, and up to where they may. It lasts from one leader to the next. */
export class Folding {
  readonly fold: Fold;
  readonly position: Position;
  readonly limit: FoldLimit;
  readonly barriers: PositionBarriers;
  readonly intake: Intake;
  /** Notified after each batch. */
  readonly moved = new WakeUp();
  /** What a leader makes of what is folded. */
  changes: () => { marking: boolean; fanOuts: number } = () => ({ marking: false, fanOuts: 0 });
  readonly #deps: FoldingDeps;
  readonly #partitions: PartitionWatch;
  readonly #waiting = new Set<string>();
  #warned = false;
  #batches = 0;

  /** Folds nothing before `limit` says how far; null is as far as the log goes. */
  constructor(bounds: LogBounds, limit: Position | null, deps: FoldingDeps) {
    this.#deps = deps;
    this.fold = new Fold(deps.tags);
    this.position = positionOf(bounds, 'low');
    this.limit = new FoldLimit(limit);
    this.barriers = new PositionBarriers(copyPosition(this.position));
    this.intake = new Intake({ ...deps, fold: this.fold, sink: deps.rejects, barriers: this.barriers });
    this.#partitions = new PartitionWatch(bounds, deps);
  }

  /** Takes the log in until told to stop. Rejects with the log's own faults. */
  follow(signal: AbortSignal): Promise<void> {
    return this.#deps.eventLog.follow(
      copyPosition(this.position),
      {
        onBatch: (batch) => this.#take(batch),
        onWaiting: (topic, partition, waiting) => this.#setWaiting(`${topic}/${partition}`, waiting),
        hold: this.limit.hold,
      },
      signal,
    );
  }

  /** Whether a partition is not folded up to its end. Ignores partitions that wait for something outside the log. */
  isBehind(ends: Position): boolean {
    return partitionsBehind(this.position, ends).some((partition) => !this.#waiting.has(partition));
  }

  /**
   * Resolves once the log is folded up to these ends, or when told to stop. An end that the log has lost meanwhile is not
   * waited for.
   */
  async foldTo(ends: Position, signal: AbortSignal): Promise<void> {
    const wanted = copyPosition(ends);
    const progress = new FoldProgress(copyPosition(this.position), ends, this.#deps);
    let asking = false;
    while (!signal.aborted && this.isBehind(wanted)) {
      progress.at(this.position);
      this.#deps.watching.turn();
      const before = this.#batches;
      await this.moved.waitAtMost(lookMs, this.#deps.clock, signal);
      // Not waited for: another partition's broker may be away.
      if (this.#batches > before || asking) continue;
      asking = true;
      void this.#lower(wanted).then(() => {
        asking = false;
      });
    }
    if (signal.aborted || this.#warned) return;
    this.#warned = true;
    this.#partitions.warn();
  }

  /** Takes back what the log does not hold any more: an unclean election, or a restored broker, may have cut it. */
  async #lower(wanted: Position): Promise<void> {
    const bounds = await this.#deps.eventLog.bounds().catch(() => null);
    if (!bounds) return;
    const ends = positionOf(bounds, 'end');
    for (const topic of topicNames) {
      wanted[topic] = wanted[topic].map((end, partition) => Math.min(end, ends[topic][partition] ?? end));
    }
    this.moved.notify();
  }

  async #take(batch: LogBatch): Promise<void> {
    // A hold may be at an offset that is folded already.
    if (batch.nextOffset <= this.position[batch.topic][batch.partition]! && batch.records.length === 0) return;
    const { watching } = this.#deps;
    watching.taking(batch);
    const before = this.changes().fanOuts;
    this.#partitions.take(batch);
    const taken = this.intake.take(batch);
    // In the same turn as the facts and their sum.
    this.position[batch.topic][batch.partition] = batch.nextOffset;
    const { marking, fanOuts } = this.changes();
    watching.took(batch, marking ? (fanOuts > before ? fanOuts : 0) : null);
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
