import type { Position } from '../ports/event-log.ts';
import { copyPosition } from '../position.ts';

/** Something not yet done for a change already folded: the position may not pass it (docs/rules.md#position). */
export interface Hold {
  round: number;
  since: Position;
}

/**
 * What holds the position back: slow fan-outs, rejects not yet acknowledged, repairs. A hold begins at the start of the
 * last round, which no later change precedes.
 */
export class Holds {
  readonly #open = new Set<Hold>();
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

  open(): Hold {
    const hold = { round: this.#round, since: this.#lastStart };
    this.#open.add(hold);
    return hold;
  }

  close(hold: Hold): void {
    this.#open.delete(hold);
  }

  /** The position up to which all is done, given one up to which all views are written. */
  settled(written: Position): Position {
    let oldest: Hold | null = null;
    for (const hold of this.#open) if (!oldest || hold.round < oldest.round) oldest = hold;
    return oldest?.since ?? written;
  }
}
