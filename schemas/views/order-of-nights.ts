import { compareText, orderText } from './text.ts';

export interface NightOrder {
  day: number;
  /** Minutes since local midnight, or null; title; ride id. */
  sort: readonly [number | null, string, string];
}

/** Order of nights (docs/rules.md#order-of-nights): day, time (nights without a time last), title, ride id. */
export function compareNights(a: NightOrder, b: NightOrder): number {
  return (
    a.day - b.day ||
    (a.sort[0] ?? Number.MAX_SAFE_INTEGER) - (b.sort[0] ?? Number.MAX_SAFE_INTEGER) ||
    compareText(a.sort[1], b.sort[1]) ||
    compareText(a.sort[2], b.sort[2])
  );
}

/** A night among those of its day, for nights that are compared often: such texts compare by `<` as their nights do above. */
export const orderInDay = ([minute, title, ride]: NightOrder['sort']): string =>
  orderText(minute === null ? 'none' : String(minute).padStart(4, '0'), title, ride);
