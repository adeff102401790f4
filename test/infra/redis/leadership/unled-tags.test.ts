import { beforeEach, expect, it } from 'vitest';
import { UnledTags } from '../../../../infra/redis/leadership/unled-tags.ts';

// Two tags stand for all.

let tags: UnledTags;
beforeEach(() => {
  tags = new UnledTags();
});

/** Looks every half second, at what `fences` says of each. */
const look = (fromMs: number, toMs: number, fences: (look: number) => (string | null)[]): void => {
  for (let ms = fromMs; ms <= toMs; ms += 500) tags.looked(fences(ms / 500), ms);
};
const moving = (look: number) => `1:${look}:ada:led`;

it('a tag whose fence moves is led', () => {
  look(0, 5_000, (n) => [moving(n), moving(n)]);
  expect(tags.count(5_000)).toBe(0);
});

it('a tag is unled once its fence has not moved for 2.5 s, and led again when it moves', () => {
  look(0, 3_000, (n) => [moving(n), moving(n)]);
  look(3_500, 5_000, (n) => [moving(n), moving(6)]);
  expect(tags.count(5_000)).toBe(0);
  look(5_500, 5_500, (n) => [moving(n), moving(6)]);
  expect(tags.count(5_500)).toBe(1);
  look(6_000, 6_000, (n) => [moving(n), moving(n)]);
  expect(tags.count(6_000)).toBe(0);
});

it.each([
  ['is absent', () => null],
  ['is free', (n: number) => `1:${n}:ada:free`],
  ['is a dead leader’s', () => moving(7)],
])('a tag whose fence %s is unled', (_, fence) => {
  look(0, 2_500, (n) => [moving(n), fence(n)]);
  expect(tags.count(2_500)).toBe(1);
});

it('it is not known who leads in the first 2.5 s, and while the store does not answer', () => {
  expect(tags.count(0)).toBeNull();
  look(0, 2_000, (n) => [moving(n), null]);
  expect(tags.count(2_000)).toBeNull();
  look(2_500, 3_000, (n) => [moving(n), null]);
  expect(tags.count(3_000)).toBe(1);
  expect(tags.count(5_500)).toBeNull();
  // It is back: what it kept must be seen to move first.
  look(9_000, 11_000, (n) => [moving(n), null]);
  expect(tags.count(11_000)).toBeNull();
  look(11_500, 11_500, (n) => [moving(n), null]);
  expect(tags.count(11_500)).toBe(1);
});
