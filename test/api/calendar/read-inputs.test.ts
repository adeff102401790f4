import { describe, expect, it } from 'vitest';
import { readInputs } from '../../../api/calendar/read-inputs.ts';

/** Inputs as they are sent. What they mean once they are decoded is in test/examples. */

const day = (query: string, segments: string[] = ['portland', '2026-02-28']) => readInputs('getDay', segments, query);
const friends = (query: string) => readInputs('getFriends', [], query);
const inputOf = (result: { ok: boolean; input?: string }) => (result.ok ? null : result.input);
const detailOf = (result: { ok: boolean; detail?: string }) => (result.ok ? null : result.detail);

// docs/rules.md#patterns, #path-decoding
it.each(['', 'abc', 'ABCD', 'abcd+', 'abcd%0A', 'abcd%', '%2561bcd', '%FFab', 'abc\xe9', 'a'.repeat(33), 'a%2Fbc'])(
  'ride %j is refused',
  (ride) => expect(inputOf(readInputs('getRide', [ride], ''))).toBe('ride'),
);

// docs/rules.md#dates
it.each([
  ...['2026-02-30', '1900-02-29', '2026-13-01', '0000-01-01', '10000-01-01', '2026-1-1', '2026-01-01T00:00'],
  ...['2026-01-01%00', '%FF', '２026-01-01', ''],
])('%j is no date', (text) => {
  const refused = { ok: false, input: 'day', detail: 'is not a date, YYYY-MM-DD' };
  expect(day('', ['portland', text])).toEqual(refused);
  expect(friends(`metro=pdx&from=${text}`)).toEqual({ ...refused, input: 'from' });
});

it.each(['0001-01-01', '9999-12-31', '2024-02-29', '2000-02-29'])('%s is a date', (text) => {
  expect(day('', ['portland', text]).ok).toBe(true);
});

describe('a query', () => {
  // docs/rules.md#plus-sign, #lists, #unknown-parameters
  it.each([
    ['q=a+b%2Bc%20d', { q: 'a b+c d' }],
    ['q=a=b', { q: 'a=b' }],
    ['%71=ab', { q: 'ab' }],
    [`q=${'%F0%9F%9A%B2'.repeat(200)}`, { q: '🚲'.repeat(200) }],
    ['far=under_5%2Cover_40', { far: ['under_5', 'over_40'] }],
    ['where=a-1,b', { where: ['a-1', 'b'] }],
    ['x=%FF&%FF=1&\xe9=1&&=&limit=3&Q=a', {}],
  ])('%s is read', (query, inputs) => {
    expect(day(query)).toEqual({ ok: true, inputs: { metro: 'portland', day: '2026-02-28', ...inputs } });
  });

  // docs/rules.md#length-of-q, #lists
  it.each([
    ...['q', 'q=', 'q=%F0%9F%9A%B2', `q=${'%F0%9F%9A%B2'.repeat(201)}`, `q=${'a'.repeat(201)}`],
    ...['far=', 'far=,', 'far=under_5,', 'far=,under_5', 'far=under_5,,over_40', 'far=UNDER_5', 'far=under_5, over_40'],
    ...['where=', 'where=a,a', 'where=A', `where=${'a'.repeat(81)}`, 'where=a,%C3%A9'],
  ])('%s is refused', (query) => expect(inputOf(day(query))).toBe(query.split('=')[0]));

  // docs/rules.md#plus-sign
  // The space as `+`, as `%20` or as it is; the plus sign encoded or as it is.
  const spellings = ['%2B', '%2b', '+'].flatMap((plus) => ['%20', '+', ' '].map((space) => `21${plus}${space}Only`));
  it.each([...spellings, '%32%31+%20%4Fnly'])('who=%s is 21+ Only', (text) => {
    expect(day(`who=General,${text}%2CFamily+Friendly`)).toMatchObject({
      inputs: { who: ['General', '21+ Only', 'Family Friendly'] },
    });
  });

  it.each([
    ...['21%20%20Only', '21%20+Only', '21++Only,21%2B+Only', '21+Only', '21+++Only', '121++Only', '21++Only+'],
    ...['21%2B%20%20Only', '21  Only', 'general', 'Family++Friendly', '21+%FFOnly', '%ED%A0%8021'],
  ])('who=%s is refused', (text) => expect(inputOf(day(`who=${text}`))).toBe('who'));

  // docs/rules.md#booleans, #close-friends-only
  it('has close_friends_only as true, false, or false where it is not sent', () => {
    const only = (text: string) => friends(`metro=pdx&from=2026-01-01&to=2026-01-02${text}`);
    expect(only('&close_friends_only=true')).toMatchObject({ inputs: { close_friends_only: true } });
    expect(only('')).toMatchObject({ inputs: { close_friends_only: false } });
    for (const text of ['TRUE', '1', 'yes', '', 'true,', ' true', 'on'])
      expect(detailOf(only(`&close_friends_only=${text}`))).toBe('is neither true nor false');
  });

  // docs/rules.md#order-of-inputs
  it('names the first wrong input in the order of the interface, a range last', () => {
    expect(inputOf(day('q=', ['', 'x']))).toBe('metro');
    expect(inputOf(day('q=', ['portland', 'x']))).toBe('day');
    expect(inputOf(day('where=A&who=x&far=x&q=a'))).toBe('q');
    expect(inputOf(day('where=A&who=x&far=x'))).toBe('far');
    const backwards = 'from=2026-01-02&to=2026-01-01';
    for (const [query, input] of [
      ['to=x', 'metro'],
      ['to=x&metro=pdx', 'from'],
      [`close_friends_only=1&metro=pdx&${backwards}`, 'close_friends_only'],
      [`close_friends_only=true&metro=pdx&${backwards}`, 'to'],
    ] as const)
      expect(inputOf(friends(query))).toBe(input);
  });

  // docs/rules.md#broken-encoding
  it('says in constant words what is wrong with an input', () => {
    for (const text of ['%', '%zz', '%FF', '%C0%AF', '%ED%A0%80', '%F4%90%80%80', 'caf\xe9', 'caf\xc3\xa9'])
      expect(detailOf(day(`q=ab${text}`))).toBe('is not percent-encoded UTF-8');
    for (const query of ['q=ab&q=ab', 'q=ab&q=%FF', '%71=ab&q=ab'])
      expect(detailOf(day(query))).toBe('is given more than once');
    // docs/rules.md#lists
    for (const query of ['far=under_5&far=5_to_10', 'where=a&where=', 'where=a,b&where=c&q=ab'])
      expect(detailOf(day(query))).toBe('is given more than once: send one value with commas');
    expect(detailOf(friends(''))).toBe('is missing');
    const bands = 'under_5, 5_to_10, 10_to_20, 20_to_40, over_40';
    expect(detailOf(day('far=x'))).toBe(`is not a comma-separated list of any of: ${bands}`);
    expect(detailOf(day('far=under_5,under_5'))).toBe('is a comma-separated list in which an item is repeated');
    const slugs = 'is not a comma-separated list of district slugs: each 1 to 80 of a-z, 0-9 and hyphen';
    expect(detailOf(day('where=A'))).toBe(slugs);
    expect(detailOf(day('q=a'))).toBe('is not of 2 to 200 characters');
    expect(detailOf(friends('metro=p'))).toBe('is not a metro slug: 2 to 32 of a-z, 0-9 and hyphen');
    expect(detailOf(readInputs('getRide', ['abc'], ''))).toBe('is not a ride id: 4 to 32 of a-z and 0-9');
    const backwards = friends('metro=pdx&from=2026-01-02&to=2026-01-01');
    expect(detailOf(backwards)).toBe('is before from, or more than 31 days after it');
  });

  // docs/rules.md#range-of-dates
  it.each([
    ['2026-01-01', '2026-01-01', '2026-02-01', '2026-02-02'],
    ['2024-02-01', '2024-02-01', '2024-03-03', '2024-03-04'],
  ])('from %s may end on %s to %s, and not on %s', (from, first, last, wrong) => {
    const range = (to: string) => readInputs('getKnown', [], `metro=pdx&from=${from}&to=${to}`);
    expect([range(first).ok, range(last).ok, inputOf(range(wrong))]).toEqual([true, true, 'to']);
  });
});
