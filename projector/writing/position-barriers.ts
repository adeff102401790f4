import type { Position } from '../ports/event-log.ts';
import { copyPosition } from '../position.ts';

/**
 * Something that is not finished for a change that is folded already. The stored position must not pass it
 * (docs/rules.md#position).
 */
export interface Barrier {
  round: number;
  since: Position;
}

/**
 * Holds back the stored position: for fan-outs in progress, rejects that are not acknowledged, repairs. A barrier is at
 * the start of the last round, and no later change is before that.
 */
export class PositionBarriers {
  readonly #open = new Set<Barrier>();
  #round = 0;
  #lastStart: Position;

  constructor(position: Position) {
    this.#lastStart = copyPosition(position);
  }

  /** A round begins at this position. */
  begin(position: Position): void {
    this.#round += 1;
    this.#lastStart = position;
  }

  open(): Barrier {
    const barrier = { round: this.#round, since: this.#lastStart };
    this.#open.add(barrier);
    return barrier;
  }

  lift(barrier: Barrier): void {
    this.#open.delete(barrier);
  }

  /** The position up to which everything is done, given the position up to which all views are written. */
  settled(written: Position): Position {
    let oldest: Barrier | null = null;
    for (const barrier of this.#open) if (!oldest || barrier.round < oldest.round) oldest = barrier;
    return oldest?.since ?? written;
  }
}
