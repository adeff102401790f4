import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readInputs } from '../../../api/calendar/read-inputs.ts';
import { audiences, distanceBands } from '../../../schemas/events/patterns.ts';
import type { OperationName } from '../../../schemas/interface/inputs.ts';

const day = (query: string, segments: string[] = ['portland', '2026-02-28']) => readInputs('getDay', segments, query);
const known = (query: string) => readInputs('getKnown', [], query);
const friends = (query: string) => readInputs('getFriends', [], query);
const named = (result: { ok: boolean; input?: string }) => (result.ok ? null : result.input);

describe('path parameters', () => {
  it('are read as they are', () => {
    expect(day('')).toEqual({ ok: true, inputs: { metro: 'portland', day: '2026-02-28' } });
    expect(readInputs('getRide', ['abcd'], '')).toEqual({ ok: true, inputs: { ride: 'abcd' } });
  });

  it('are decoded once', () => {
    expect(readInputs('getRide', ['%61bcd'], '')).toEqual({ ok: true, inputs: { ride: 'abcd' } });
    expect(named(readInputs('getRide', ['%2561bcd'], ''))).toBe('ride');
    expect(named(readInputs('getRide', ['abcd+'], ''))).toBe('ride');
  });

  // docs/rules.md#patterns
  it.each(['', 'abc', 'ABCD', 'abcd%0A', 'abcd%', '%zzab', '%FFab', 'ab%C0%AFcd', 'abc\xe9', 'a'.repeat(33), 'a%2Fbc'])(
    'ride %j is refused',
    (ride) => {
      expect(named(readInputs('getRide', [ride], ''))).toBe('ride');
    },
  );

  it('a metro is judged before a day, and both before the query', () => {
    expect(named(day('q=', ['', 'x']))).toBe('metro');
    expect(named(day('q=', ['portland', 'x']))).toBe('day');
    expect(named(day('q=', ['portland', '']))).toBe('day');
    expect(named(day('q='))).toBe('q');
  });
});

// docs/rules.md#dates
describe('dates', () => {
  it.each(['2026-02-30', '2025-02-29', '1900-02-29', '2026-13-01', '2026-00-10', '2026-01-00', '2026-04-31'])(
    '%s does not exist',
    (text) => {
      expect(day('', ['portland', text])).toEqual({ ok: false, input: 'day', detail: 'is not a date, YYYY-MM-DD' });
    },
  );

  it.each([
    '0000-01-01',
    '10000-01-01',
    '2026-1-1',
    '2026-01-01T00:00',
    '-001-01-01',
    '2026-01-01%00',
    '%FF',
    '２026-01-01',
  ])('%s is none', (text) => {
    expect(day('', ['portland', text])).toEqual({ ok: false, input: 'day', detail: 'is not a date, YYYY-MM-DD' });
  });

  it.each(['0001-01-01', '9999-12-31', '2024-02-29', '2000-02-29'])('%s is one', (text) => {
    expect(day('', ['portland', text]).ok).toBe(true);
  });
});

describe('q', () => {
  // docs/rules.md#length-of-q
  it('is counted in code points of the decoded text, untrimmed', () => {
    expect(day('q=%F0%9F%9A%B2')).toMatchObject({ ok: false, input: 'q' });
    expect(day('q=%F0%9F%9A%B2a')).toMatchObject({ inputs: { q: '🚲a' } });
    expect(day('q=++')).toMatchObject({ inputs: { q: '  ' } });
    expect(day(`q=${'%F0%9F%9A%B2'.repeat(200)}`).ok).toBe(true);
    expect(named(day(`q=${'%F0%9F%9A%B2'.repeat(201)}`))).toBe('q');
    expect(day(`q=${'a'.repeat(200)}`).ok).toBe(true);
    expect(named(day(`q=${'a'.repeat(201)}`))).toBe('q');
  });

  // docs/rules.md#plus-sign
  it('a plus sign is a space, an encoded one is a plus sign', () => {
    expect(day('q=a+b%2Bc%20d')).toMatchObject({ inputs: { q: 'a b+c d' } });
  });

  it('without a value is empty text, and refused', () => {
    expect(named(day('q'))).toBe('q');
    expect(named(day('q='))).toBe('q');
  });

  it('keeps what follows a second equals sign', () => {
    expect(day('q=a=b')).toMatchObject({ inputs: { q: 'a=b' } });
  });
});

// docs/rules.md#lists
describe('lists', () => {
  it('are split at commas once decoded', () => {
    expect(day('far=under_5,over_40')).toMatchObject({ inputs: { far: ['under_5', 'over_40'] } });
    expect(day('far=under_5%2Cover_40')).toMatchObject({ inputs: { far: ['under_5', 'over_40'] } });
    expect(day('where=a-1,b')).toMatchObject({ inputs: { where: ['a-1', 'b'] } });
  });

  it.each([
    '',
    ',',
    'under_5,',
    ',under_5',
    'under_5,,over_40',
    'under_5,under_5',
    'under_6',
    'UNDER_5',
    'under_5, over_40',
  ])('far=%s is refused', (text) => {
    expect(named(day(`far=${text}`))).toBe('far');
  });

  it.each(['', 'a,a', 'A', `${'a'.repeat(81)}`, 'a,%C3%A9'])('where=%s is refused', (text) => {
    expect(named(day(`where=${text}`))).toBe('where');
  });

  // docs/rules.md#plus-sign
  // The space as `+`, as `%20` or as it is; the plus sign encoded or as it is.
  const spellings = ['%2B', '%2b', '+'].flatMap((plus) => ['%20', '+', ' '].map((space) => `21${plus}${space}Only`));
  it.each([...spellings, '%32%31+%20%4Fnly'])('who=%s is 21+ Only', (text) => {
    expect(day(`who=${text}`)).toMatchObject({ inputs: { who: ['21+ Only'] } });
    expect(day(`who=General,${text}%2CFamily+Friendly`)).toMatchObject({
      inputs: { who: ['General', '21+ Only', 'Family Friendly'] },
    });
  });

  it.each([
    ...['21%20%20Only', '21%20+Only', '21%20%2BOnly', '21++Only,21%2B+Only', '21+Only', '21%2BOnly', '21%20Only'],
    ...['21+++Only', '21%2B%2B%20Only', '21+%2B+Only', '121++Only', '21++Only+', '+21++Only', '21++General'],
    ...['21%2B%20%20Only', '21%2B++Only', '21  Only', 'general', 'Family++Friendly', '21+%FFOnly', '%ED%A0%8021'],
  ])('who=%s is refused', (text) => {
    expect(named(day(`who=${text}`))).toBe('who');
  });

  it('say what they may hold', () => {
    expect(day('far=x')).toMatchObject({
      detail: 'is not a comma-separated list of any of: under_5, 5_to_10, 10_to_20, 20_to_40, over_40',
    });
    expect(day('far=under_5,under_5')).toMatchObject({
      detail: 'is a comma-separated list in which an item is repeated',
    });
  });
});

describe('a query', () => {
  // docs/rules.md#unknown-parameters
  it('ignores unknown parameters, even those that can not be decoded', () => {
    expect(day('x=%FF&%FF=1&\xe9=1&&=&limit=3&Q=a').ok).toBe(true);
    expect(readInputs('getMyNights', [], 'metro=%').ok).toBe(true);
  });

  it('knows a parameter by its decoded name', () => {
    expect(day('%71=ab')).toMatchObject({ inputs: { q: 'ab' } });
    expect(named(day('%71=ab&q=ab'))).toBe('q');
  });

  it('refuses a parameter given twice, though its values agree or one is bad', () => {
    expect(day('q=ab&q=ab')).toEqual({ ok: false, input: 'q', detail: 'is given more than once' });
    expect(day('q=ab&q=%FF')).toMatchObject({ detail: 'is given more than once' });
    expect(named(known('metro=pdx&from=2026-01-01&to=2026-01-02&to=2026-01-02'))).toBe('to');
  });

  // docs/rules.md#order-of-inputs
  it('names the first wrong one in the order of the interface, not of the query', () => {
    expect(named(day('where=A&who=x&far=x&q=a'))).toBe('q');
    expect(named(day('where=A&who=x&far=x'))).toBe('far');
    expect(named(day('where=A&who=x'))).toBe('who');
    expect(named(known('to=x'))).toBe('metro');
    expect(named(known('to=x&metro=pdx'))).toBe('from');
    expect(named(friends('close_friends_only=1&metro=pdx&from=2026-01-02&to=2026-01-01'))).toBe('close_friends_only');
  });

  // docs/rules.md#broken-encoding
  it('text that is not percent-encoded UTF-8 is a wrong input of its parameter', () => {
    for (const text of ['%', '%zz', '%FF', '%C0%AF', '%ED%A0%80', '%F4%90%80%80', 'caf\xe9', 'caf\xc3\xa9']) {
      expect(day(`q=ab${text}`)).toEqual({ ok: false, input: 'q', detail: 'is not percent-encoded UTF-8' });
    }
    expect(known('metro=pdx&from=%FF')).toMatchObject({ input: 'from', detail: 'is not a date, YYYY-MM-DD' });
  });
});

// docs/rules.md#range-of-dates
describe('a range', () => {
  const range = (from: string, to: string) => known(`metro=pdx&from=${from}&to=${to}`);

  it('needs all three inputs', () => {
    expect(known('')).toEqual({ ok: false, input: 'metro', detail: 'is missing' });
    expect(named(known('metro=pdx&to=2026-01-01'))).toBe('from');
    expect(named(known('metro=pdx&from=2026-01-01'))).toBe('to');
  });

  it('is of one day to 31 days later, across months, leap days and the first years', () => {
    expect(range('2026-01-01', '2026-01-01').ok).toBe(true);
    expect(range('2026-01-01', '2026-02-01').ok).toBe(true);
    expect(range('2024-02-01', '2024-03-03').ok).toBe(true);
    expect(range('0001-01-01', '0001-02-01').ok).toBe(true);
    expect(named(range('2026-01-01', '2026-02-02'))).toBe('to');
    expect(named(range('2024-02-01', '2024-03-04'))).toBe('to');
    expect(named(range('0001-01-01', '0001-02-02'))).toBe('to');
    expect(named(range('2026-01-02', '2026-01-01'))).toBe('to');
  });

  it('is judged after everything else', () => {
    expect(named(friends('metro=pdx&from=2026-01-02&to=2026-01-01&close_friends_only='))).toBe('close_friends_only');
    expect(named(friends('metro=pdx&from=2026-01-02&to=2026-01-01&close_friends_only=true'))).toBe('to');
  });
});

// docs/rules.md#booleans, #close-friends-only
describe('close_friends_only', () => {
  const only = (text: string) => friends(`metro=pdx&from=2026-01-01&to=2026-01-02${text}`);

  it('is true, false, or false where it is not sent', () => {
    expect(only('&close_friends_only=true')).toMatchObject({ inputs: { close_friends_only: true } });
    expect(only('&close_friends_only=false')).toMatchObject({ inputs: { close_friends_only: false } });
    expect(only('')).toMatchObject({ inputs: { close_friends_only: false } });
  });

  it.each(['TRUE', '1', 'yes', '', 'true,', ' true', 'on'])('%j is neither', (text) => {
    expect(only(`&close_friends_only=${text}`)).toEqual({
      ok: false,
      input: 'close_friends_only',
      detail: 'is neither true nor false',
    });
  });
});

describe('any inputs', () => {
  /** Every legal way to write a character: itself where it may stand so, or percent-encoded in either case. */
  const encode = (text: string, bare: RegExp, choices: number[]) =>
    [...text]
      .map((c, i) => {
        const choice = (choices[i % choices.length] ?? 0) % 3;
        if (bare.test(c) && choice !== 0) return c;
        if (c === ' ' && bare === inQuery && choice !== 0) return '+';
        const bytes = [...Buffer.from(c)].map((b) => `%${b.toString(16).padStart(2, '0')}`).join('');
        return choice === 2 ? bytes.toUpperCase() : bytes;
      })
      .join('');
  const inPath = /^[A-Za-z0-9._~!$&'()*+,;=:@-]$/;
  const inQuery = /^[A-Za-z0-9._~!$'()*,;:@/?-]$/;

  const choices = fc.array(fc.nat(2), { minLength: 1, maxLength: 7 });
  const dates = fc
    .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-11-28T00:00:00Z'), noInvalidDate: true })
    .map((d) => d.toISOString().slice(0, 10));
  const metros = fc.stringMatching(/^[a-z0-9-]{2,32}$/);
  const words = fc.string({ unit: 'grapheme-composite', minLength: 2, maxLength: 60 }).filter((q) => {
    const length = [...q].length;
    return length >= 2 && length <= 200;
  });

  it('decode to themselves, however they are encoded and whatever stands between them', () => {
    const queries = fc.record(
      {
        q: words,
        far: fc.subarray([...distanceBands], { minLength: 1 }),
        who: fc.subarray([...audiences], { minLength: 1 }),
        where: fc.uniqueArray(fc.stringMatching(/^[a-z0-9-]{1,80}$/), { minLength: 1, maxLength: 5 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(metros, dates, queries, choices, fc.boolean(), (metro, date, query, ways, backwards) => {
        const parts = Object.entries(query).map(
          ([name, value]) => `${encode(name, inQuery, ways)}=${encode(String(value), inQuery, ways)}`,
        );
        if (backwards) parts.reverse();
        const text = ['utm=%FF', ...parts].join('&');
        expect(readInputs('getDay', [encode(metro, inPath, ways), encode(date, inPath, ways)], text)).toEqual({
          ok: true,
          inputs: { metro, day: date, ...query },
        });
      }),
    );
  });

  it('of a range decode to themselves', () => {
    fc.assert(
      fc.property(metros, dates, fc.integer({ min: 0, max: 31 }), choices, (metro, from, days, ways) => {
        const to = new Date(Date.parse(from) + days * 86_400_000).toISOString().slice(0, 10);
        const query = Object.entries({ to, metro, from })
          .map(([name, value]) => `${name}=${encode(value, inQuery, ways)}`)
          .join('&');
        expect(readInputs('getFlagged', [], query)).toEqual({ ok: true, inputs: { metro, from, to } });
      }),
    );
  });

  it('never throw, whatever the bytes', () => {
    const bytes = fc.string({
      unit: fc.oneof(
        {
          weight: 3,
          arbitrary: fc.constantFrom('%', '&', '=', '+', ',', 'q', 'far=', 'who', 'metro=', 'from=', '%F', '%C3%A9'),
        },
        { weight: 1, arbitrary: fc.integer({ min: 0, max: 255 }).map((b) => String.fromCharCode(b)) },
      ),
      maxLength: 60,
    });
    const operations = fc.constantFrom<OperationName>('getDay', 'getRide', 'getKnown', 'getFriends', 'getMyNights');
    fc.assert(
      fc.property(operations, bytes, bytes, bytes, (operation, one, two, query) => {
        const result = readInputs(operation, [one, two], query);
        if (!result.ok) expect(result.detail).toMatch(/^(is|has) /);
      }),
      { numRuns: 2000 },
    );
  });
});
