import { expect, it } from 'vitest';
import { UnledTags } from '../../../../infra/redis/leadership/unled-tags.ts';

/** Looks at two tags, which stand for all, every half second, at what `second` says of the other one. */
function scene() {
  const tags = new UnledTags();
  const moving = (look: number) => `1:${look}:ada:led`;
  const looked = (fromMs: number, toMs: number, second: (look: number) => string | null) => {
    for (let ms = fromMs; ms <= toMs; ms += 500) tags.looked([moving(ms / 500), second(ms / 500)], ms);
    return tags.count(toMs);
  };
  return { tags, moving, looked };
}

it('a tag is unled once its fence has not moved for 2.5 s, and led again when it moves', () => {
  const { moving, looked } = scene();
  expect(looked(0, 3_000, moving)).toBe(0);
  expect(looked(3_500, 5_000, () => moving(6))).toBe(0);
  expect(looked(5_500, 5_500, () => moving(6))).toBe(1);
  expect(looked(6_000, 6_000, moving)).toBe(0);
});

it.each([
  ['is absent', () => null],
  ['is free', (n: number) => `1:${n}:ada:free`],
])('a tag whose fence %s is unled', (_, fence) => {
  expect(scene().looked(0, 2_500, fence)).toBe(1);
});

it('it is not known who leads in the first 2.5 s, and while the store does not answer', () => {
  const { tags, looked } = scene();
  expect(tags.count(0)).toBeNull();
  expect(looked(0, 2_000, () => null)).toBeNull();
  expect(looked(2_500, 3_000, () => null)).toBe(1);
  expect(tags.count(5_500)).toBeNull();
  // It is back: what it kept must be seen to move first.
  expect(looked(9_000, 11_000, () => null)).toBeNull();
  expect(looked(11_500, 11_500, () => null)).toBe(1);
});
