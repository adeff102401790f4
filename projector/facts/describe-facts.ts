import { countText } from '../count-text.ts';
import type { Facts } from './facts.ts';

/** How many there are of what the facts hold, for the log. Erased riders, and ids that others only refer to, do not count. */
export function describeFacts({ metros, rides, nightRecords, riders }: Facts): string {
  return [
    countText(countOf(metros, exists), 'metro'),
    countText(
      countOf(rides, ({ record }) => exists(record)),
      'ride',
    ),
    countText(countOf(nightRecords, exists), 'night'),
    countText(countOf(riders, exists), 'rider'),
  ].join(', ');
}

const exists = (fact: unknown): boolean => fact !== null && fact !== undefined;

function countOf<T>(all: readonly T[], counts: (one: T) => boolean): number {
  let count = 0;
  for (const one of all) if (counts(one)) count++;
  return count;
}
