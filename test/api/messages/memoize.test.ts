import { expect, it } from 'vitest';
import { memoize } from '../../../api/messages/memoize.ts';

it('a text asked for again and again is worked out once, however many others come between', () => {
  const made: string[] = [];
  const upper = memoize((text) => {
    made.push(text);
    return text.toUpperCase();
  });
  for (let i = 0; i < 20_000; i++) {
    upper('often');
    upper(`once ${i}`);
  }
  expect(upper('often')).toBe('OFTEN');
  expect(upper('once 7')).toBe('ONCE 7');
  expect(made.filter((text) => text === 'often')).toHaveLength(1);
  // What is kept is bounded.
  expect(made.filter((text) => text === 'once 7')).toHaveLength(2);
});

it('the result for a long text is not kept, and a result of null is', () => {
  let made = 0;
  const nothing = memoize(() => {
    made += 1;
    return null;
  });
  for (let i = 0; i < 3; i++) expect(nothing('short')).toBeNull();
  expect(made).toBe(1);
  for (let i = 0; i < 3; i++) nothing('x'.repeat(1_000));
  expect(made).toBe(4);
});
