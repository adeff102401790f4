import type { Reject } from '../projector/ports/event-log.ts';

/** The place and timestamp of a bad record. */
type RejectPlace = Pick<Reject, 'topic' | 'partition' | 'offset' | 'timestampMs'>;

/** Some 400 MB of places. Whoever has more bad records than this may find an early one set aside twice. */
const placesMax = 4_000_000;

/**
 * Which bad records are set aside already, the latest `max` of them. A record is identified by its place and its
 * timestamp: if a topic was recreated, or a log loaded from an archive, offsets are used again.
 */
export class RejectPlaces {
  readonly #max: number;
  /** The oldest first. */
  readonly #places = new Set<string>();

  constructor(max = placesMax) {
    this.#max = max;
  }

  add(reject: RejectPlace): void {
    this.#places.add(placeOf(reject));
    if (this.#places.size > this.#max) this.#places.delete(this.#places.values().next().value!);
  }

  /** Those that are not in the set yet, each once. */
  unknown(rejects: readonly Reject[]): Reject[] {
    const byPlace = new Map(rejects.map((reject) => [placeOf(reject), reject]));
    return [...byPlace].flatMap(([place, reject]) => (this.#places.has(place) ? [] : [reject]));
  }
}

/** A place as text. */
export const placeOf = ({ topic, partition, offset, timestampMs }: RejectPlace): string =>
  `${topic}/${partition}@${offset} ${timestampMs}`;
