import type { Inputs } from '../../../schemas/interface/inputs.ts';
import { matchesWords, searchWords } from '../../../schemas/views/text.ts';
import { decodeDay, decodeRide, type Facets } from '../../../schemas/views/view-kinds.ts';
import { EncodedBody } from '../../messages/encoded-body.ts';
import { memoize } from '../../messages/memoize.ts';
import { isPast } from './local-days.ts';
import { pastShorterBy, withPast } from './past-bytes.ts';

type DayFilter = Pick<Inputs<'getDay'>, 'q' | 'far' | 'who' | 'where'>;

const comma = Buffer.from(',');
const wordsOf = memoize(searchWords);

/** A stored day, ready to answer: whole or filtered, before its local midnight or after it. */
export class DayView {
  readonly digest: string;
  readonly zone: string;
  readonly day: number;
  readonly count: number;
  readonly #nights: number[];
  readonly #stored: Buffer;
  readonly #readFacets: () => Facets[];
  #facets: Facets[] | null = null;
  /** The last body, and whether its nights are past. That changes once. */
  #last: { past: boolean; body: EncodedBody } | null = null;

  constructor(value: Buffer) {
    const { digest, header, body, facets } = decodeDay(value);
    this.digest = digest;
    this.zone = header.zone;
    this.day = header.day;
    this.#nights = header.nights;
    this.count = header.nights.length / 3;
    this.#stored = body;
    this.#readFacets = facets;
  }

  /** The answer's body. All nights of a day become past at the same midnight. */
  body(past: boolean): EncodedBody {
    if (this.#last?.past !== past) {
      const offsets = past ? this.#nights.filter((_, i) => i % 3 === 2) : [];
      this.#last = { past, body: new EncodedBody(withPast(this.#stored, offsets)) };
    }
    return this.#last.body;
  }

  /** Indexes of the nights that match a filter (docs/rules.md#filters, #far, #who, #where). */
  select({ q, far, who, where }: DayFilter): number[] {
    this.#facets ??= this.#readFacets();
    const words = q === undefined ? [] : wordsOf(q);
    const selected: number[] = [];
    this.#facets.forEach((night, i) => {
      if (
        (!far || night.far === null || (far as string[]).includes(night.far)) &&
        (!who || night.who === null || (who as string[]).includes(night.who)) &&
        (!where || (night.where !== null && where.includes(night.where))) &&
        matchesWords(night.text, words)
      ) {
        selected.push(i);
      }
    });
    return selected;
  }

  /** The answer's body with only the nights at these indexes. It is not kept, so each is read once. */
  pick(selected: readonly number[], past: boolean): EncodedBody {
    if (selected.length === this.count) return this.body(past);
    const body = this.body(past).bytes;
    // Each `true` written before this offset has moved it to the left by one byte.
    const shift = past ? pastShorterBy : 0;
    const pieces: Buffer[] = [body.subarray(0, this.#nights[0])];
    selected.forEach((i, place) => {
      if (place > 0) pieces.push(comma);
      pieces.push(body.subarray(this.#nights[3 * i]! - shift * i, this.#nights[3 * i + 1]! - shift * (i + 1)));
    });
    pieces.push(body.subarray(this.#nights.at(-2)! - shift * this.count));
    return new EncodedBody(Buffer.concat(pieces));
  }
}

/** A stored ride, ready to answer at any time. */
export class RideView {
  readonly digest: string;
  readonly zone: string;
  readonly #days: number[];
  readonly #past: number[];
  readonly #stored: Buffer;
  /** The last body, and its number of past nights. That number changes once a day at most. */
  #last: { count: number; body: EncodedBody } | null = null;

  constructor(value: Buffer) {
    const { digest, header, body } = decodeRide(value);
    this.digest = digest;
    this.zone = header.zone;
    this.#days = header.days;
    this.#past = header.past;
    this.#stored = body;
  }

  /** How many nights are past on a local date. They come first, because nights are in the order of days. */
  pastCount(today: number): number {
    const first = this.#days.findIndex((day) => !isPast(day, today));
    return first === -1 ? this.#days.length : first;
  }

  body(pastCount: number): EncodedBody {
    if (this.#last?.count !== pastCount) {
      const body = new EncodedBody(withPast(this.#stored, this.#past.slice(0, pastCount)));
      this.#last = { count: pastCount, body };
    }
    return this.#last.body;
  }
}
