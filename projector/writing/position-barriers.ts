import type { Position } from '../ports/event-log.ts';
import { copyPosition } from '../position.ts';

/** Something not yet done for a change already folded: the stored position may not pass it (docs/rules.md#position). */
export interface Barrier {
  round: number;
  since: Position;
}

/**
 * What keeps the stored position back: fan-outs under way, rejects not yet acknowledged, repairs. A barrier stands at
 * the start of the last round, which no later change precedes.
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

  /** The position up to which all is done, given one up to which all views are written. */
  settled(written: Position): Position {
    let oldest: Barrier | null = null;
    for (const barrier of this.#open) if (!oldest || barrier.round < oldest.round) oldest = barrier;
    return oldest?.since ?? written;
  }
}
