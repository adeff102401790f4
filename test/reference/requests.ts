import { dayOf } from './dates.ts';

/**
 * A request to one of the six calendar operations. Every parameter is the decoded text as it was sent (a list is its
 * one comma-separated text), or undefined where it was not sent; `rider` is who the token speaks for.
 */
export type CalendarRequest =
  | ({ operation: 'getDay'; metro: string; day: string } & DayFilters)
  | { operation: 'getRide'; ride: string }
  | { operation: 'getMyNights'; rider: string }
  | ({ operation: 'getKnown'; rider: string } & MetroRange)
  | ({ operation: 'getFriends'; rider: string; closeFriendsOnly?: string | undefined } & MetroRange)
  | ({ operation: 'getFlagged'; rider: string } & MetroRange);

export interface DayFilters {
  q?: string | undefined;
  far?: string | undefined;
  who?: string | undefined;
  where?: string | undefined;
}

export interface MetroRange {
  metro?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** The path and query to send, relative to the base URL, percent-encoded. */
export function pathOf(request: CalendarRequest): string {
  const segment = encodeURIComponent;
  switch (request.operation) {
    case 'getDay': {
      const { metro, day, q, far, who, where } = request;
      return `/metros/${segment(metro)}/days/${segment(day)}${query({ q, far, who, where })}`;
    }
    case 'getRide':
      return `/rides/${segment(request.ride)}`;
    case 'getMyNights':
      return '/me/nights';
    default: {
      const { operation, metro, from, to } = request;
      const close_friends_only = operation === 'getFriends' ? request.closeFriendsOnly : undefined;
      return `/me/${operation.slice(3).toLowerCase()}${query({ metro, from, to, close_friends_only })}`;
    }
  }
}

function query(parameters: Record<string, string | undefined>): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return `${pairs.length > 0 ? '?' : ''}${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join('&')}`;
}

const isMetro = (text: string | undefined): boolean => /^[a-z0-9-]{2,32}$/.test(text ?? '');
const isDate = (text: string | undefined): boolean => text !== undefined && dayOf(text) !== null;
const isSearch = (text: string): boolean => [...text].length >= 2 && [...text].length <= 200;
const isListOf = (text: string, isItem: (item: string) => boolean): boolean => {
  const items = text.split(',');
  return items.every(isItem) && new Set(items).size === items.length;
};
const distanceBands = ['under_5', '5_to_10', '10_to_20', '20_to_40', 'over_40'];
const audiences = ['General', 'Family Friendly', '21+ Only'];

/**
 * The first input that its schema refuses, by name, or null: path first, then the query's order, a range last
 * (docs/rules.md#order-of-inputs).
 */
export function wrongInput(request: CalendarRequest): string | null {
  switch (request.operation) {
    case 'getDay': {
      const { metro, day, q, far, who, where } = request;
      if (!isMetro(metro)) return 'metro';
      if (!isDate(day)) return 'day';
      if (q !== undefined && !isSearch(q)) return 'q';
      if (far !== undefined && !isListOf(far, (item) => distanceBands.includes(item))) return 'far';
      if (who !== undefined && !isListOf(who, (item) => audiences.includes(item))) return 'who';
      return where === undefined || isListOf(where, (item) => /^[a-z0-9-]{1,80}$/.test(item)) ? null : 'where';
    }
    case 'getRide':
      return /^[a-z0-9]{4,32}$/.test(request.ride) ? null : 'ride';
    case 'getMyNights':
      return null;
    default: {
      const { metro, from, to } = request;
      if (!isMetro(metro)) return 'metro';
      if (!isDate(from)) return 'from';
      if (!isDate(to)) return 'to';
      if (request.operation === 'getFriends' && ![undefined, 'true', 'false'].includes(request.closeFriendsOnly))
        return 'close_friends_only';
      const daysApart = dayOf(to!)! - dayOf(from!)!;
      return daysApart < 0 || daysApart > 31 ? 'to' : null;
    }
  }
}
