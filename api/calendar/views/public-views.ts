import type { Inputs } from '../../../schemas/interface/inputs.ts';
import { matchesWords, searchWords } from '../../../schemas/views/text.ts';
import { decodeDay, decodeRide, type Facets } from '../../../schemas/views/view-kinds.ts';
import type { StoredParts } from '../../../schemas/views/view-values.ts';
import { EncodedBody } from '../../messages/encoded-body.ts';
import { memoize } from '../../messages/memoize.ts';
import { isPast } from './local-days.ts';
import { withPast } from './past-bytes.ts';

type DayFilter = Pick<Inputs<'getDay'>, 'q' | 'far' | 'who' | 'where'>;

const wordsOf = memoize(searchWords);

/** A stored day or ride, ready to answer at any time. Its nights are in the order of days, so past ones come first. */
export class PublicView {
  readonly digest: string;
  readonly zone: string;
  readonly #stored: Buffer;
  readonly #days: readonly number[];
  readonly #pastAt: readonly number[];
  /** The last body, and its number of past nights. That number changes once a day at most. */
  #last: { pastCount: number; body: EncodedBody } | null = null;

  /** `days`: the day of each night. `pastAt`: where its `false` begins in the body. */
  constructor(
    { digest, header, body }: StoredParts<{ zone: string }, unknown>,
    days: readonly number[],
    pastAt: readonly number[],
  ) {
    this.digest = digest;
    this.zone = header.zone;
    this.#stored = body;
    this.#days = days;
    this.#pastAt = pastAt;
  }

  /** How many nights are past on a local date. */
  pastCount(today: number): number {
    const first = this.#days.findIndex((day) => !isPast(day, today));
    return first === -1 ? this.#days.length : first;
  }

  body(pastCount: number): EncodedBody {
    if (this.#last?.pastCount !== pastCount) {
      const body = new EncodedBody(withPast(this.#stored, this.#pastAt.slice(0, pastCount)));
      this.#last = { pastCount, body };
    }
    return this.#last.body;
  }
}

export class RideView extends PublicView {
  constructor(value: Buffer) {
    const parts = decodeRide(value);
    super(parts, parts.header.days, parts.header.past);
  }
}

/** A day can also be answered with some of its nights. */
export class DayView extends PublicView {
  /** Three offsets per night, as in the header. */
  readonly #nights: readonly number[];
  readonly #readFacets: () => Facets[];
  #facets: Facets[] | null = null;

  constructor(value: Buffer) {
    const parts = decodeDay(value);
    const { day, nights } = parts.header;
    const pastAt = nights.filter((_, i) => i % 3 === 2);
    super(parts, new Array(pastAt.length).fill(day), pastAt);
    this.#nights = nights;
    this.#readFacets = parts.facets;
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
        (!where || where.includes(night.where!)) &&
        matchesWords(night.text, words)
      ) {
        selected.push(i);
      }
    });
    return selected;
  }

  /** The answer's body with only the nights at these indexes. It is not kept, so each is read once. */
  pick(selected: readonly number[], pastCount: number): EncodedBody {
    const whole = this.body(pastCount);
    if (3 * selected.length === this.#nights.length) return whole;
    const [{ text }, nights] = [whole, this.#nights];
    // All nights are past, or none: they are of one day. Each that is has one byte less.
    const less = Math.sign(pastCount);
    const picked = selected.map((i) => text.slice(nights[3 * i]! - less * i, nights[3 * i + 1]! - less * (i + 1)));
    return new EncodedBody(text.slice(0, nights[0]) + picked.join() + text.slice(nights.at(-2)! - pastCount));
  }
}
