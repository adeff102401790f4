import type { RejectPlace } from '../projector/ports/event-log.ts';

/** Some 400 MB of places. With more bad records than this, an early one may be set aside twice. */
export const placesMax = 4_000_000;

/** Remembers which bad records are set aside already: the latest `max` of them (docs/rules.md#rejected-once). */
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
  unknown<T extends RejectPlace>(rejects: readonly T[]): T[] {
    const byPlace = new Map(rejects.map((reject) => [placeOf(reject), reject]));
    return [...byPlace].flatMap(([place, reject]) => (this.#places.has(place) ? [] : [reject]));
  }
}

/** A place as text, e.g. `nights/2@17 1434222000000`. */
export const placeOf = ({ topic, partition, offset, timestampMs }: RejectPlace): string =>
  `${topic}/${partition}@${offset} ${timestampMs}`;
