import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayMax, dayMin, dayOfBytes, dayText, parseDay, weekOf } from '../../../schemas/views/days.ts';
import { dayOf } from '../../reference/dates.ts';

const read = (text: string): number => dayOfBytes(Buffer.from(`ride1/${text}/r1`), 6);

// docs/rules.md#days-and-times
describe('a day', () => {
  it('is read from its bytes, and is in a week that begins on a Monday, in every year', () => {
    const text = Buffer.alloc(10);
    for (let day = dayMin; day <= dayMax; day += 13) {
      text.write(dayText(day));
      const monday = weekOf(day);
      if (
        dayOfBytes(text, 0) !== day ||
        new Date(monday * 86_400_000).getUTCDay() !== 1 ||
        day - monday < 0 ||
        day - monday > 6
      )
        throw new Error(`${text} is not read as day ${day}, or its week does not begin on ${dayText(monday)}`);
    }
    for (const day of [dayMin, -1, 0, dayMax]) expect(read(dayText(day))).toBe(day);
  });

  it('is one in bytes only where its text is', () => {
    const number = (max: number, length: number) => fc.nat(max).map((n) => String(n).padStart(length, '0'));
    const date = fc.tuple(number(10_000, 4), number(14, 2), number(33, 2)).map((parts) => parts.join('-'));
    const odd = fc.constantFrom(
      '2026-02-29',
      '2024-02-29',
      '1900-02-29',
      '2200-02-29',
      '2026-1-01',
      '2026-01/01',
      '+026-01-01',
    );
    fc.assert(
      fc.property(fc.oneof(date, odd), (text) => {
        expect(parseDay(text)).toBe(dayOf(text));
        if (text.length === 10) expect(read(text)).toBe(dayOf(text) ?? Number.NaN);
      }),
      { numRuns: 2_000 },
    );
  });
});
