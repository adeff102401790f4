import type { Touched } from './touched.ts';

/** Passes on what a fold reports, also to somebody who listens for a while. */
export class TouchedTwice implements Touched {
  readonly #first: Touched;
  also: Touched | null = null;

  constructor(first: Touched) {
    this.#first = first;
  }

  metro(metro: number): void {
    this.#first.metro(metro);
    this.also?.metro(metro);
  }

  ride(ride: number): void {
    this.#first.ride(ride);
    this.also?.ride(ride);
  }

  night(night: number): void {
    this.#first.night(night);
    this.also?.night(night);
  }

  card(rider: number): void {
    this.#first.card(rider);
    this.also?.card(rider);
  }

  existence(rider: number): void {
    this.#first.existence(rider);
    this.also?.existence(rider);
  }

  keyHash(hash: number): void {
    this.#first.keyHash(hash);
    this.also?.keyHash(hash);
  }

  own(rider: number, day: number): void {
    this.#first.own(rider, day);
    this.also?.own(rider, day);
  }

  going(rider: number, day: number): void {
    this.#first.going(rider, day);
    this.also?.going(rider, day);
  }

  relation(reader: number, other: number, before: number, after: number): void {
    this.#first.relation(reader, other, before, after);
    this.also?.relation(reader, other, before, after);
  }
}
