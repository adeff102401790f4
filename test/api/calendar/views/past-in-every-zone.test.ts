import fc from 'fast-check';
import tzdata from 'tzdata' with { type: 'json' };
import { describe, expect, it } from 'vitest';
import { dayAt } from '../../../../api/calendar/views/local-days.ts';
import { localDay } from '../../../reference/dates.ts';

/** `past` flips at the metro's midnight (docs/rules.md#past), in every zone, and on days when clocks change. */

const dayMs = 86_400_000;
const minuteMs = 60_000;
const hourMs = 3_600_000;
// St John's changed its clock a minute past midnight until 2011; Apia skipped a day in 2011.
const years = [2006, 2027] as const;

/** Every Zone and Link name of the IANA database, but for Factory. */
const everyName: readonly string[] = Object.keys(tzdata.zones)
  .filter((zone) => zone !== 'Factory')
  .toSorted();
/** Zones alone: a Link is another name of one. */
const everyZone = everyName.filter((name) => typeof tzdata.zones[name as keyof typeof tzdata.zones] !== 'string');

describe('a local date', () => {
  it('is right in every zone at every half hour around its clock changes, and at either side of each midnight', () => {
    let checked = 0;
    for (const zone of everyZone) {
      const list = clockChanges(zone, ...years);
      // Rules change over the years, but not much: the first and the last ones stand for all.
      for (const change of new Set([...list.slice(0, 2), ...list.slice(-1)])) {
        let before = localDay(zone, change - 26 * hourMs);
        for (let at = change - 26 * hourMs; at < change + 26 * hourMs; at += hourMs / 2) {
          const day = localDay(zone, at);
          expect([zone, at, dayAt(zone, at)]).toEqual([zone, at, day]);
          if (day !== before) {
            let [low, high] = [at - hourMs / 2, at];
            while (high - low > 1) {
              const middle = Math.floor((low + high) / 2);
              if (localDay(zone, middle) === before) low = middle;
              else high = middle;
            }
            const around = [low, high].map((ms) => dayAt(zone, ms));
            expect([zone, high, ...around]).toEqual([zone, high, before, day]);
          }
          before = day;
          checked += 1;
        }
      }
    }
    expect([everyName.length > 550, everyZone.length > 300, checked > 50_000]).toEqual([true, true, true]);
  });

  it('is right whatever was asked before, in any order, in years 1 to 9999', () => {
    const instant = fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2040, 0, 1) }) },
      { weight: 1, arbitrary: fc.integer({ min: Date.parse('0001-01-02T00:00:00Z'), max: Date.UTC(9999, 11, 30) }) },
    );
    const nearby = fc.tuple(instant, fc.array(fc.integer({ min: -2 * dayMs, max: 2 * dayMs }), { minLength: 5 }));
    fc.assert(
      fc.property(fc.constantFrom(...everyName), nearby, (zone, [base, offsets]) => {
        for (const offset of offsets) expect(dayAt(zone, base + offset)).toBe(localDay(zone, base + offset));
      }),
      { numRuns: 1_000 },
    );
  });
});

/** Instants at which a zone's clock was put forward or back within some years, to the minute. */
function clockChanges(zone: string, fromYear: number, toYear: number): number[] {
  // Such as `GMT-07:00`, by the platform's own zone data.
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const offsetAt = (ms: number): string => format.format(ms).split(' ')[1]!;
  const changes: number[] = [];
  const step = 10 * dayMs;
  for (let at = Date.UTC(fromYear, 0, 1); at < Date.UTC(toYear, 11, 31); at += step) {
    const offset = offsetAt(at);
    let [low, high] = [at, at + step];
    if (offsetAt(high) === offset) continue;
    while (high - low > minuteMs) {
      const middle = low + Math.floor((high - low) / 2 / minuteMs) * minuteMs;
      if (offsetAt(middle) === offset) low = middle;
      else high = middle;
    }
    changes.push(high);
  }
  return changes;
}
