import tzdata from 'tzdata' with { type: 'json' };
import { expect, it } from 'vitest';
import { dayAt } from '../../../../api/calendar/views/local-days.ts';
import { localDay } from '../../../reference/dates.ts';

/** `past` flips at the metro's midnight (docs/rules.md#past), in every zone, and on days when clocks change. */

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** Zones of the IANA database: a text is a Link, another name of one. */
const everyZone = Object.entries(tzdata.zones).flatMap(([name, of]) =>
  typeof of === 'string' || name === 'Factory' ? [] : [name],
);

/** The instant within a span, to `stepMs`, at which what is read becomes another; null if it is the same at both ends. */
function turn<T>(read: (ms: number) => T, [low, high]: [number, number], stepMs: number): number | null {
  const before = read(low);
  if (read(high) === before) return null;
  while (high - low > stepMs) {
    const middle = low + Math.floor((high - low) / 2 / stepMs) * stepMs;
    if (read(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Instants at which a zone's clock was put forward or back, to the minute, by the platform's own zone data. */
function clockChanges(zone: string): number[] {
  // Such as `GMT-07:00`.
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const offsetAt = (ms: number): string => format.format(ms).split(' ')[1]!;
  // St John's changed its clock a minute past midnight until 2011; Apia skipped a day in 2011.
  const [from, to] = [Date.UTC(2006, 0, 1), Date.UTC(2027, 11, 31)];
  const spans = Array.from({ length: Math.ceil((to - from) / dayMs / 20) }, (_, i) => from + i * 20 * dayMs);
  return spans.map((at) => turn(offsetAt, [at, at + 20 * dayMs], minuteMs)).filter((change) => change !== null);
}

it('a local date is right in every zone at every half hour around its clock changes, and at either side of midnight', () => {
  let checked = 0;
  for (const zone of everyZone) {
    const list = clockChanges(zone);
    const local = (ms: number) => localDay(zone, ms);
    // Rules change over the years, but not much: the first and the last one stand for all.
    for (const change of new Set([...list.slice(0, 1), ...list.slice(-1)])) {
      for (let at = change - 26 * hourMs; at < change + 26 * hourMs; at += hourMs / 2, checked++) {
        const midnight = turn(local, [at, at + hourMs / 2], 1);
        for (const ms of midnight === null ? [at] : [at, midnight - 1, midnight])
          expect([zone, ms, dayAt(zone, ms)]).toEqual([zone, ms, local(ms)]);
      }
    }
  }
  expect([everyZone.length > 300, checked > 30_000]).toEqual([true, true]);
});
