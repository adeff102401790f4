import type { Reject } from '../projector/ports/event-log.ts';

/** The place and timestamp of a bad record. */
type RejectPlace = Pick<Reject, 'topic' | 'partition' | 'offset' | 'timestampMs'>;

/**
 * Which bad records are set aside already, in 16 bytes each. A record is identified by its place and its timestamp: if
 * a topic was recreated, or a log loaded from an archive, offsets are used again.
 */
export class RejectPlaces {
  readonly #byPartition = new Map<string, Pairs>();

  has({ topic, partition, offset, timestampMs }: RejectPlace): boolean {
    return this.#byPartition.get(`${topic}/${partition}`)?.has(offset, timestampMs) ?? false;
  }

  add({ topic, partition, offset, timestampMs }: RejectPlace): void {
    const name = `${topic}/${partition}`;
    const pairs = this.#byPartition.get(name) ?? new Pairs();
    this.#byPartition.set(name, pairs);
    pairs.add(offset, timestampMs);
  }

  /** Those that are not in the set yet, each once. */
  unknown(rejects: readonly Reject[]): Reject[] {
    const byPlace = new Map(rejects.map((reject) => [placeOf(reject), reject]));
    return [...byPlace.values()].filter((reject) => !this.has(reject));
  }
}

/** A place as text. */
export const placeOf = ({ topic, partition, offset, timestampMs }: RejectPlace): string =>
  `${topic}/${partition}@${offset} ${timestampMs}`;

/** Sorted pairs of numbers. Fastest if they are added in ascending order. */
class Pairs {
  #numbers = new Float64Array(32);
  #size = 0;

  has(a: number, b: number): boolean {
    return this.#isAt(this.#indexOf(a, b), a, b);
  }

  add(a: number, b: number): void {
    const index = this.#indexOf(a, b);
    if (this.#isAt(index, a, b)) return;
    if (2 * this.#size === this.#numbers.length) {
      const larger = new Float64Array(4 * this.#size);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers.copyWithin(2 * index + 2, 2 * index, 2 * this.#size);
    this.#numbers[2 * index] = a;
    this.#numbers[2 * index + 1] = b;
    this.#size++;
  }

  #isAt(index: number, a: number, b: number): boolean {
    return index < this.#size && this.#numbers[2 * index] === a && this.#numbers[2 * index + 1] === b;
  }

  #isBelow(index: number, a: number, b: number): boolean {
    const first = this.#numbers[2 * index]!;
    return first < a || (first === a && this.#numbers[2 * index + 1]! < b);
  }

  /** The index of the first pair that is not lower. */
  #indexOf(a: number, b: number): number {
    if (this.#size === 0 || this.#isBelow(this.#size - 1, a, b)) return this.#size;
    let [low, high] = [0, this.#size - 1];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#isBelow(middle, a, b)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
