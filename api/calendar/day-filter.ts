import type { Inputs } from '../../schemas/interface/inputs.ts';
import { matchesWords, searchWords } from '../../schemas/views/text.ts';
import type { Facets } from '../../schemas/views/view-values.ts';
import { memoize } from './memoize.ts';

export type DayFilter = Pick<Inputs<'getDay'>, 'q' | 'far' | 'who' | 'where'>;

const wordsOf = memoize(searchWords);

/** Indexes of the nights that match a filter (docs/rules.md#filters, #far, #who, #where). */
export function matchingNights(nights: readonly Facets[], filter: DayFilter): number[] {
  const words = filter.q === undefined ? [] : wordsOf(filter.q);
  const selected: number[] = [];
  nights.forEach((night, i) => {
    if (
      (!filter.far || night.far === null || (filter.far as string[]).includes(night.far)) &&
      (!filter.who || night.who === null || (filter.who as string[]).includes(night.who)) &&
      (!filter.where || (night.where !== null && filter.where.includes(night.where))) &&
      matchesWords(night.text, words)
    ) {
      selected.push(i);
    }
  });
  return selected;
}
