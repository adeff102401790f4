import type { Position } from '../ports/event-log.ts';

/** Where a round began: what was folded then, and the sum of those facts. */
export interface RoundStart {
  round: number;
  position: Position;
  sum: string;
}

/** Something that is not yet done for a change that is already folded: the stored position may not pass it (docs/rules.md#position). */
export interface Barrier {
  since: RoundStart;
  /** A fan-out, which may be stored beside the position instead. */
  fanOut: boolean;
}

/**
 * What keeps the stored position back: rejects not yet acknowledged, and fan-outs of which there are too many to be
 * stored. A barrier stands at the start of the last round, which no later change precedes.
 */
export class PositionBarriers {
  readonly #open = new Set<Barrier>();
  #lastStart: RoundStart;

  constructor(position: Position) {
    this.#lastStart = { round: 0, position, sum: '' };
  }

  /** A round begins at this position. */
  begin(position: Position, sum: string): RoundStart {
    this.#lastStart = { round: this.#lastStart.round + 1, position, sum };
    return this.#lastStart;
  }

  open({ fanOut = false } = {}): Barrier {
    const barrier = { since: this.#lastStart, fanOut };
    this.#open.add(barrier);
    return barrier;
  }

  lift(barrier: Barrier): void {
    this.#open.delete(barrier);
  }

  /** The start of the last round before which all is done, given a round that is written. */
  settled(written: RoundStart, { fanOutsStored }: { fanOutsStored: boolean }): RoundStart {
    let oldest = written;
    for (const { since, fanOut } of this.#open) {
      if (!(fanOut && fanOutsStored) && since.round < oldest.round) oldest = since;
    }
    return oldest;
  }
}
