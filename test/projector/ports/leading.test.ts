import { expect, it } from 'vitest';
import { hasMoved } from '../../../projector/ports/leading.ts';

// docs/rules.md#fence
it('a fence has moved where two looks saw two fences: a first look and an absent fence say nothing', () => {
  expect(hasMoved('1:7:a:led', '1:8:a:led')).toBe(true);
  expect(hasMoved(null, '1:0:a:led')).toBe(true);
  expect(hasMoved('1:7:a:led', '1:7:a:led')).toBe(false);
  expect(hasMoved(undefined, '1:7:a:led')).toBe(false);
  expect(hasMoved('1:7:a:led', null)).toBe(false);
});
