import type { TopicName } from '../../schemas/events/records.ts';
import type { Hold, Position } from '../ports/event-log.ts';
import { WakeUp } from '../ports/waiting.ts';

/** Up to where the log may be folded: a standby follows the leader's position and goes no further. */
export class FoldLimit {
  #limit: Position | null;
  readonly #moved = new WakeUp();

  /** Null: as far as the log goes. */
  constructor(limit: Position | null) {
    this.#limit = limit;
  }

  get limit(): Position | null {
    return this.#limit;
  }

  set limit(limit: Position | null) {
    this.#limit = limit;
    this.#moved.notify();
  }

  /** Where a partition is to be held; null where it is not. */
  readonly hold = (topic: TopicName, partition: number): Hold | null => {
    const offset = this.#limit?.[topic][partition];
    return offset === undefined ? null : { offset, moved: this.#moved.wait() };
  };
}
