import { beforeAll, expect, it } from 'vitest';
import { dayAt, secondsUntil } from '../../../../api/calendar/views/local-days.ts';
import { localDay } from '../../../reference/dates.ts';

const hourMs = 3_600_000;

/** Days around which clocks were changed: over midnight, by a day, from local mean time, by half an hour; and not. */
const zones = [
  ['America/St_Johns', '2010-11-07'],
  ['Pacific/Apia', '2011-12-30'],
  ['America/Los_Angeles', '1883-11-18'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['Europe/Berlin', '2026-03-29'],
  ['Asia/Kolkata', '2026-01-01'],
  ['UTC', '2026-01-01'],
] as const;

interface Days {
  zone: string;
  /** Instants, with the reference's local date. */
  at: [ms: number, day: number][];
  /** The first instants of local dates. */
  turns: number[];
}

const all: Days[] = [];

beforeAll(() => {
  for (const [zone, date] of zones) {
    const noon = Date.parse(`${date}T12:00:00Z`);
    const at: Days['at'] = [];
    const turns: number[] = [];
    for (let ms = noon - 50 * hourMs; ms <= noon + 50 * hourMs; ms += hourMs / 2) {
      const day = localDay(zone, ms);
      if (at.length > 0 && at.at(-1)![1] !== day) turns.push(firstOf(zone, ms - hourMs / 2, ms));
      at.push([ms, day]);
    }
    for (const turn of turns) at.push([turn - 1, localDay(zone, turn - 1)], [turn, localDay(zone, turn)]);
    all.push({ zone, at, turns });
  }
});

/** The first instant of the local date that it is at `high`, and not at `low`. */
function firstOf(zone: string, low: number, high: number): number {
  const day = localDay(zone, high);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (localDay(zone, middle) === day) high = middle;
    else low = middle;
  }
  return high;
}

it('a local date is the reference’s, at every half hour around clock changes and at either side of midnight', () => {
  for (const { zone, at } of all) {
    for (const [ms, day] of at) if (dayAt(zone, ms) !== day) throw new Error(`${zone} ${ms}: not ${day}`);
  }
});

it('a local date lasts for as many whole seconds as there are before the next one, or as are asked for', () => {
  for (const { zone, at, turns } of all) {
    for (const [ms, today] of at) {
      const next = turns.find((turn) => turn > ms);
      if (next === undefined) continue;
      const seconds = Math.floor((next - ms) / 1000);
      for (const most of [1, 1_800, seconds, seconds + 1, 90_000]) {
        const got = secondsUntil(zone, ms, most, (day) => day !== today);
        expect([zone, ms, most, got]).toEqual([zone, ms, most, Math.min(most, seconds)]);
      }
    }
    expect(secondsUntil(zone, at[0]![0], 400_000, () => false)).toBe(400_000);
  }
});
