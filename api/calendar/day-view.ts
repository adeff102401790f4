import { type DayHeader, decodeView, type Facets } from '../../schemas/views/view-values.ts';
import { type DayFilter, matchingNights } from './day-filter.ts';
import { pastShorterBy, withPast } from './past.ts';

const comma = Buffer.from(',');

/** A stored day, ready to answer: whole or filtered, before its local midnight or after it. */
export class DayView {
  readonly digest: string;
  readonly zone: string;
  readonly day: number;
  readonly count: number;
  readonly #nights: number[];
  readonly #body: Buffer;
  readonly #readFacets: () => Facets[];
  #facets: Facets[] | null = null;
  #past: Buffer | null = null;

  constructor(value: Buffer) {
    const { digest, header, body, facets } = decodeView<DayHeader>(value);
    this.digest = digest;
    this.zone = header.zone;
    this.day = header.day;
    this.#nights = header.nights;
    this.count = header.nights.length / 3;
    this.#body = body;
    this.#readFacets = facets;
  }

  /** The answer's bytes. All nights of a day become past at the same midnight. */
  body(past: boolean): Buffer {
    if (!past) return this.#body;
    this.#past ??= withPast(
      this.#body,
      this.#nights.filter((_, i) => i % 3 === 2),
    );
    return this.#past;
  }

  /** Indexes of the nights that match a filter. */
  select(filter: DayFilter): number[] {
    this.#facets ??= this.#readFacets();
    return matchingNights(this.#facets, filter);
  }

  /** The answer's bytes with only the nights at these indexes. */
  pick(selected: readonly number[], past: boolean): Buffer {
    if (selected.length === this.count) return this.body(past);
    const body = this.body(past);
    // Each `true` written before this offset has moved it to the left by one byte.
    const shift = past ? pastShorterBy : 0;
    const pieces: Buffer[] = [body.subarray(0, this.#nights[0])];
    selected.forEach((i, place) => {
      if (place > 0) pieces.push(comma);
      pieces.push(body.subarray(this.#nights[3 * i]! - shift * i, this.#nights[3 * i + 1]! - shift * (i + 1)));
    });
    pieces.push(body.subarray(this.#nights.at(-2)! - shift * this.count));
    return Buffer.concat(pieces);
  }
}
