import tzdata from 'tzdata' with { type: 'json' };
import { expect, it, vi } from 'vitest';
import { dayAt, instantOf, secondsUntil } from '../../../../api/calendar/views/local-days.ts';
import { localDay } from '../../../reference/dates.ts';
import { on } from '../../../reference/example-log.ts';

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

// docs/rules.md#past
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

const [portland, stJohns] = ['America/Los_Angeles', 'America/St_Johns'];

it.each([
  [portland, '2015-06-14T07:00:00Z'],
  // Before there were standard zones, an offset has seconds. A zone without an offset has the date of UTC.
  [portland, '1880-06-14T07:52:58Z'],
  ['Europe/Paris', '1900-06-13T23:50:39Z', '1900-06-14'],
  ['UTC', '2015-06-14T00:00:00Z'],
])('in %s a local date begins at %s, to the millisecond', (zone, at, date = at.slice(0, 10)) => {
  const ms = Date.parse(at);
  expect([dayAt(zone, ms), dayAt(zone, ms - 1)]).toEqual([on(date), on(date) - 1]);
});

it('a period is worked out once while it is among the last 64 of its zone, and stands for no other time', () => {
  const formats = vi.spyOn(Intl.DateTimeFormat.prototype as { format: unknown }, 'format', 'get');
  const isWorkedOut = (day: number): boolean => {
    const before = formats.mock.calls.length;
    expect(dayAt('Asia/Tokyo', day * dayMs)).toBe(day);
    return formats.mock.calls.length > before;
  };
  for (let day = 63; day >= 0; day--) expect([day, isWorkedOut(day)]).toEqual([day, true]);
  expect([63, 0, 64, 63].map(isWorkedOut)).toEqual([false, false, true, true]);
  formats.mockRestore();
});

// docs/rules.md#max-age
it.each([
  [portland, '2015-06-14T06:59:50.500Z', 60, 9],
  [portland, '2015-06-14T07:00:00Z', 60, 60],
  // Clocks go forward within ten seconds, and back over midnight.
  [portland, '2015-03-08T09:59:50Z', 86_400, 21 * 3_600 + 10],
  [stJohns, '2009-11-01T02:30:30Z', 60, 30],
])('in %s at %s, of %i seconds at most, another date is away', (zone, at, secondsMax, seconds) => {
  const ms = Date.parse(at);
  expect(secondsUntil(zone, ms, secondsMax, (day) => day !== dayAt(zone, ms))).toBe(seconds);
  expect(secondsUntil(zone, ms, secondsMax, () => false)).toBe(secondsMax);
});

it.each([
  ['2015-06-13T19:30', '2015-06-14T02:30Z'],
  // The clock goes forward: one is skipped. It goes back: one comes twice.
  ['2015-03-08T02:30', '2015-03-08T10:30Z'],
  ['2015-03-08T12:00', '2015-03-08T19:00Z'],
  ['2015-11-01T01:30', '2015-11-01T08:30Z'],
])('the wall time %s in Portland is %s', (wall, at) => {
  const ms = Date.parse(`${wall}Z`);
  expect(instantOf(portland, Math.floor(ms / dayMs), ms % dayMs)).toBe(Date.parse(at));
});
