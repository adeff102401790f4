import { byTopic, type TopicName, topicNames } from '../../schemas/events/records.ts';
import type { Position } from '../ports/event-log.ts';

/** A rider whose watchers are not all told yet, with the days. */
export type StoredFanOut = readonly [rider: string, days: readonly number[]];

/** A position as it is stored beside the views of a tag. */
export interface StoredPosition {
  /** Which log it is of; null where that is not known. */
  log: string | null;
  position: Position;
  /** Of the facts at the position. */
  sum: string;
  fanOuts: readonly StoredFanOut[];
  /** How many records of schemas that nobody knows are the last of their key. Absent: none. */
  ofUnknownSchemas?: number | undefined;
  /** Where the log began as its facts were folded. */
  begin?: Position;
  /** Up to where everything is readable; null: not known. Absent: up to the position, since no fan-out is under way. */
  readable?: Position | null;
}

/** The start of a finished round. Every tag stores it, as the text of a StoredPosition. */
export interface SettledPosition {
  start: RoundStart;
  text: string;
}

export const viewsOfAnotherLog =
  'the views are of another log, or of one whose topics were made anew: check KAFKA_BROKERS, KAFKA_TOPIC_PREFIX, REDIS_URL and REDIS_KEY_PREFIX';

/** A stored position. Null if there is none, or if its form is unknown. */
export function parseStoredPosition(text: string | null): StoredPosition | null {
  try {
    const stored = JSON.parse(text ?? '') as StoredPosition;
    const { position, sum, fanOuts } = stored;
    const whole = topicNames.every((topic) => Array.isArray(position[topic]));
    return whole && typeof sum === 'string' && Array.isArray(fanOuts) ? stored : null;
  } catch {
    return null;
  }
}

/** Up to where everything is readable, by positions beside views: none goes back. Null: none says it. Throws for views of another log. */
export function readableOf(texts: readonly (string | null)[] | null, log: string | null): Position | null {
  const stored = (texts ?? []).map(parseStoredPosition).filter((one) => one !== null);
  const own = stored.filter((one) => one.log === log);
  if (own.length < stored.length && own.length === 0)
    throw new Error(`Cannot say what is readable: ${viewsOfAnotherLog}`);
  const said = own.flatMap(({ position, readable = position }) => readable ?? []);
  const furthest = (topic: TopicName, partition: number) =>
    Math.max(...said.map((each) => each[topic][partition] ?? 0));
  return said[0] ? byTopic((topic) => said[0]![topic].map((_, partition) => furthest(topic, partition))) : null;
}

/** Where a round began: what was folded then, and the sum of those facts. */
interface RoundStart {
  round: number;
  position: Position;
  sum: string;
}

/** Something not yet done for a change that is folded: the stored position may not pass it (docs/rules.md#position). */
export interface Barrier {
  since: RoundStart;
  /** A fan-out, which may be stored beside the position instead. */
  fanOut: boolean;
}

/**
 * Holds the stored position back: for rejects that are not yet acknowledged, and for fan-outs if they are too many to be
 * stored beside it. A barrier stands at the start of the last round: its change was folded after that.
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

  liftFanOuts(): void {
    for (const barrier of this.#open) if (barrier.fanOut) this.#open.delete(barrier);
  }

  /** The start of the last round before which everything is done. `written`: the round that is written just now. */
  settled(written: RoundStart, { fanOutsStored }: { fanOutsStored: boolean }): RoundStart {
    let oldest = written;
    for (const { since, fanOut } of this.#open) {
      if (!(fanOut && fanOutsStored) && since.round < oldest.round) oldest = since;
    }
    return oldest;
  }
}
