import { decodeView, type RideHeader } from '../../schemas/views/view-values.ts';
import { withPast } from './past.ts';

/** A stored ride, ready to answer at any time. */
export class RideView {
  readonly digest: string;
  readonly zone: string;
  readonly #days: number[];
  readonly #past: number[];
  readonly #stored: Buffer;
  /** The last body, and its number of past nights. That number changes once a day at most. */
  #last: { count: number; body: Buffer } | null = null;

  constructor(value: Buffer) {
    const { digest, header, body } = decodeView<RideHeader>(value);
    this.digest = digest;
    this.zone = header.zone;
    this.#days = header.days;
    this.#past = header.past;
    this.#stored = body;
  }

  /** How many nights are past on a local date. They come first, because nights are in the order of days. */
  pastCount(today: number): number {
    const first = this.#days.findIndex((day) => day >= today);
    return first === -1 ? this.#days.length : first;
  }

  body(pastCount: number): Buffer {
    if (this.#last?.count !== pastCount) {
      this.#last = { count: pastCount, body: withPast(this.#stored, this.#past.slice(0, pastCount)) };
    }
    return this.#last.body;
  }
}
