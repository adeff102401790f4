import type { Facts } from '../facts/facts.ts';
import { Folding } from '../folding.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventLog, LogBounds, Position } from '../ports/event-log.ts';
import type { Log } from '../ports/log.ts';
import { noMetrics } from '../ports/metrics.ts';
import { untilAborted } from '../ports/waiting.ts';
import { copyPosition, partitionsBehind, positionOf } from '../position.ts';
import { UnresolvedRejects } from '../watching/unresolved-rejects.ts';
import { WindowMarks } from './window-marks.ts';

export interface OwnFoldDeps {
  eventLog: EventLog;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/** The log, folded by a process that writes nothing. */
export class OwnFold {
  readonly marks: WindowMarks;
  readonly #deps: OwnFoldDeps;
  readonly #folding: Folding;

  /** Folds up to `limit` at first. */
  constructor(bounds: LogBounds, limit: Position, deps: OwnFoldDeps) {
    this.#deps = deps;
    const watching = { turn() {}, taking() {}, took() {}, rejects: new UnresolvedRejects(), rejectsSinceMs: null };
    this.#folding = new Folding(bounds, limit, { ...deps, rejects: null, metrics: noMetrics, watching });
    this.marks = new WindowMarks(this.facts);
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

  /** A window begins: changes are marked, and the log is folded as far as it goes. Returns the position. */
  beginWindow(): Position {
    this.marks.begin();
    this.#folding.fold.touched = this.marks.touched;
    this.#folding.limit = null;
    return this.position;
  }
}
