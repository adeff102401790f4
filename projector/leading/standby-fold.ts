import type { Folding } from '../intake/folding.ts';
import type { EventLog, LogBounds, Position } from '../ports/event-log.ts';
import type { TagLook } from '../ports/view-writer.ts';
import { untilAborted } from '../ports/waiting.ts';
import { assertSamePartitions, isWithin, nearest, positionOf } from '../position/position.ts';
import { parseStoredPosition } from '../position/settled-position.ts';
import type { Status } from '../status/status.ts';

export interface StandbyFoldDeps {
  eventLog: EventLog;
  folding: Folding;
  bounds: LogBounds;
  /** Which log it is; null where that is not known. */
  identity: string | null;
  status: Status;
  signal: AbortSignal;
}

/**
 * How far a standby folds (docs/rules.md#take-over): up to the position that every tag has reached, so that it can take over
 * there.
 */
export class StandbyFold {
  readonly #deps: StandbyFoldDeps;
  /** Up to where the look before let it fold. */
  #before: Position | null = null;

  constructor(deps: StandbyFoldDeps) {
    this.#deps = deps;
  }

  /** The tags say how far they are. */
  follow(looks: readonly TagLook[]): void {
    const { folding, identity, bounds, status } = this.#deps;
    const stored = looks.map(({ position }) => parseStoredPosition(position)).filter((each) => each !== null);
    for (const each of stored) assertSamePartitions(each, identity, bounds);
    const limit = nearest(stored.filter(({ log }) => log === identity));
    // A busy leader's position moves between any two looks: what the one before asked for counts as well.
    const isFolded = [this.#before, limit].some((each) => each !== null && !folding.isBehind(each));
    this.#before = limit;
    if (limit === null) {
      status.followed(stored.length > 0 ? 'of another log' : 'no views');
    } else {
      folding.limit = limit;
      status.followed(isFolded ? 'folded' : 'behind');
    }
  }

  /** Whether the log is folded as far as it may be. */
  async isFolded(): Promise<boolean> {
    const { eventLog, folding, signal } = this.#deps;
    const { limit } = folding;
    if (limit === null || !folding.isBehind(limit)) return true;
    // A position that is beyond the log, after its topics were made anew, will never be reached.
    return !isWithin(limit, positionOf(await untilAborted(eventLog.bounds(), signal), 'end'));
  }
}
