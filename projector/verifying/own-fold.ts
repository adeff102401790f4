import { allTags, type FactKind } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import { subjectDay } from '../facts/subject-day.ts';
import { Folding } from '../folding.ts';
import { partOfField } from '../leading/open-names.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogBounds, Position } from '../ports/event-log.ts';
import type { Log } from '../ports/log.ts';
import { noMetrics } from '../ports/metrics.ts';
import { untilAborted } from '../ports/waiting.ts';
import { copyPosition, partitionsBehind, positionOf } from '../position.ts';
import { UnresolvedRejects } from '../watching/unresolved-rejects.ts';
import { numberOf } from '../writing/comparison.ts';
import { FanOuts } from '../writing/fan-outs.ts';
import { Marking } from '../writing/marking.ts';
import { Marks } from '../writing/marks.ts';
import type { StoredFanOut } from '../writing/settled-position.ts';
import type { Difference } from './difference.ts';

export interface OwnFoldDeps {
  eventLog: EventLog;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** Also notes whose relations changed: a leader's fan-out that is under way tells them at once, though they see no more of it. */
class OwnMarking extends Marking {
  readonly relating = new Set<number>();

  override relation(reader: number, other: number, before: number, after: number): void {
    this.relating.add(reader);
    super.relation(reader, other, before, after);
  }
}

/**
 * The log, folded by a process that writes nothing. From a moment on it marks the views that changes touch, by the very
 * rules by which a leader writes them.
 */
export class OwnFold {
  readonly #deps: OwnFoldDeps;
  readonly #folding: Folding;
  readonly #marks = new Marks();
  readonly #marking: OwnMarking;

  /** Folds up to `limit` at first. */
  constructor(bounds: LogBounds, limit: Position, deps: OwnFoldDeps) {
    this.#deps = deps;
    const watching = { turn() {}, taking() {}, took() {}, rejects: new UnresolvedRejects(), rejectsSinceMs: null };
    this.#folding = new Folding(bounds, limit, { ...deps, rejects: null, metrics: noMetrics, watching });
    const { fold, barriers } = this.#folding;
    // Watchers are marked at once, however many: nothing waits behind them here.
    const fanOuts = new FanOuts(fold.facts, new Set(allTags), barriers);
    this.#marking = new OwnMarking(fold.facts, this.#marks, fanOuts, Number.POSITIVE_INFINITY);
  }

  get facts(): Facts {
    return this.#folding.fold.facts;
  }

  get position(): Position {
    return copyPosition(this.#folding.position);
  }

  /** Takes the log in until the signal aborts. Rejects with the log's own faults. */
  follow(signal: AbortSignal): Promise<void> {
    return this.#folding.follow(signal);
  }

  /** Folds to a position. Throws if a partition can't be read so far. */
  async foldTo(position: Position): Promise<void> {
    await this.#folding.foldTo(position, this.#deps.signal);
    this.#deps.signal.throwIfAborted();
    const [behind] = partitionsBehind(this.#folding.position, position);
    if (behind === undefined) return;
    throw new Error(
      `Cannot read ${behind} up to its end: it waits for the schema registry, or for a transaction to end. Try again once that is over`,
    );
  }

  /** Folds up to the log's ends, sampled now. */
  async foldToEnds(): Promise<void> {
    await this.foldTo(positionOf(await untilAborted(this.#deps.eventLog.bounds(), this.#deps.signal), 'end'));
  }

  /** From now on changes are marked, and the log is folded as far as it goes. Returns the position. */
  markFromHere(): Position {
    this.#marks.take();
    this.#marking.relating.clear();
    this.#folding.fold.touched = this.#marking;
    this.#folding.limit.limit = null;
    return this.position;
  }

  /** Whether a change since then touches what differs. */
  isMarked({ name, field }: Difference): boolean {
    const number = numberOf(this.facts, name);
    if (number < 0 || name.kind === 'foreign' || name.kind === 'complete') return false;
    if (name.kind !== 'reader') return this.#marks.values[name.kind as FactKind].has(number);
    const at = partOfField(field ?? '');
    return at !== null && ((this.#marks.readerDays.get(subjectDay(number, at.day)) ?? 0) & at.part) !== 0;
  }

  /** Whether what differs shows a rider whose change is not yet told to all who see it. */
  isAwaited({ name, field }: Difference, fanOuts: readonly StoredFanOut[]): boolean {
    if (name.kind !== 'reader') return false;
    const reader = numberOf(this.facts, name);
    const day = partOfField(field ?? '')?.day;
    return fanOuts.some(([id, days]) => {
      const rider = this.facts.riderIds.find(id);
      if (rider < 0 || !days.some((one) => one === day)) return false;
      return this.#marking.relating.has(reader) || this.facts.relations.get(reader, rider) !== 0;
    });
  }
}
