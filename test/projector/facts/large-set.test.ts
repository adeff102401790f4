import { expect, it } from 'vitest';
import { Marks } from '../../../projector/writing/marks.ts';

it('a large set has no end where V8’s Set has one', { timeout: 120_000 }, () => {
  const more = 2 ** 24 + 3;
  const { values } = new Marks();
  for (let view = 0; view < more; view++) values.rider.add(view);
  expect(values.rider.size).toBe(more);
  expect(values.rider.has(more - 1)).toBe(true);
});
