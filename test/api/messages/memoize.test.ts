import { expect, it } from 'vitest';
import { memoize } from '../../../api/messages/memoize.ts';

it('a text asked for again and again is worked out once, however many others come between', () => {
  const made: string[] = [];
  const upper = memoize((text) => {
    made.push(text);
    return text.toUpperCase();
  });
  for (let i = 0; i < 20_000; i++) expect([upper('often'), upper(`once ${i}`)]).toEqual(['OFTEN', `ONCE ${i}`]);
  upper('once 7');
  const [kept, long] = [512, 513].map((length) => 'x'.repeat(length)) as [string, string];
  for (const text of [kept, kept, long, long]) upper(text);
  // What is kept is bounded, in number and length.
  const times = (text: string) => made.filter((one) => one === text).length;
  expect(['often', 'once 7', kept, long].map(times)).toEqual([1, 2, 1, 2]);
});
