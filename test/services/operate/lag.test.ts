import { expect, it } from 'vitest';
import { oldestWords } from '../../../services/operate/lag.ts';

it.each([
  [null, 0, 0, 'Every change is readable'],
  // A lag is above it then.
  [null, 0, 2, 'Every change is readable, but for what has just come: 2 offsets at most'],
  [3.21, 0, 2, 'Oldest change not yet readable: 3.2 s old'],
  [null, 64, 2, 'How old the oldest change not yet readable is: not known while nobody leads'],
])('of age %s, %s parts without a leader and lag %s lag says: %s', (age, unled, lag, words) => {
  expect(oldestWords(age, unled, lag)).toBe(words);
});
