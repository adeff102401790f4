import type { Reject } from '../projector/ports/event-log.ts';

/** The place and timestamp of a bad record. */
type RejectPlace = Pick<Reject, 'topic' | 'partition' | 'offset' | 'timestampMs'>;

/** Some 400 MB of places. With more bad records than this, an early one may be set aside twice. */
const placesMax = 4_000_000;

/**
 * Remembers which bad records are set aside already: the latest `max` of them (docs/rules.md#rejected-once). Place and timestamp
 * identify a record, because offsets are used again when a topic is recreated or a log is loaded from an archive.
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

/** A place as text, e.g. `nights/2@17 1434222000000`. */
export const placeOf = ({ topic, partition, offset, timestampMs }: RejectPlace): string =>
  `${topic}/${partition}@${offset} ${timestampMs}`;
