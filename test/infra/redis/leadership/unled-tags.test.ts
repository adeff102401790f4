import type { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { UnledTags, watchUnledTags } from '../../../../infra/redis/leadership/unled-tags.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { SharedStore } from '../../../support/stores/shared-store.ts';
import { SteppingClock } from '../../../support/stores/stepping-clock.ts';

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

it('a tag is unled once its fence has not moved for 2.5 s, or is free, and led again when it moves', () => {
  const { moving, looked } = scene();
  expect(looked(0, 3_000, moving)).toBe(0);
  expect(looked(3_500, 5_000, () => moving(6))).toBe(0);
  expect(looked(5_500, 5_500, () => moving(6))).toBe(1);
  expect(looked(6_000, 6_000, moving)).toBe(0);
  expect(looked(6_500, 9_000, (look) => `1:${look}:ada:free`)).toBe(1);
});

it('a tag without a fence is unled; it is not known who leads in the first 2.5 s, and while the store does not answer', () => {
  const { tags, looked } = scene();
  expect(tags.count(0)).toBeNull();
  expect(looked(0, 2_000, () => null)).toBeNull();
  expect(looked(2_500, 3_000, () => null)).toBe(1);
  expect(tags.count(5_500)).toBeNull();
  // It is back: what it kept must be seen to move first.
  expect(looked(9_000, 11_000, () => null)).toBeNull();
  expect(looked(11_500, 11_500, () => null)).toBe(1);
});

// docs/rules.md#fence
it('on one Redis the first fence moves for all tags of its owner, and another owner is noticed at once, another fence within five seconds', async () => {
  const { connection, keys } = new SharedStore();
  const command = (...args: string[]) => connection.command('', args) as Promise<(Buffer | null)[]>;
  let [read, n] = [0, 0];
  const mget = async (...names: [string[]] | string[]) => {
    const found = await command('MGET', ...names.flat());
    read += found.length;
    return found.map((each) => each && String(each));
  };
  const fence = (owner: string, state = 'led') => `1:${++n}:${owner}:${state}`;
  const taken = (owner: string) => command('MSET', ...allTags.flatMap((tag) => [keys.fence(tag), fence(owner)]));
  const clock = new SteppingClock();
  const stop = new AbortController();
  const count = watchUnledTags({ mget } as unknown as Redis, keys, stop.signal, clock);
  /** What is counted, without repeats, while the first fence is this one's. */
  const counted = async (ms: number, owner: string) => {
    const all: (number | null)[] = [];
    for (const end = clock.ms + ms; clock.ms < end; ) {
      await command('SET', keys.fence(0), fence(owner));
      await new Promise((resolve) => setImmediate(resolve));
      if (all.at(-1) !== count()) all.push(count());
    }
    return all;
  };
  try {
    await taken('ada');
    expect(await counted(21_000, 'ada')).toEqual([null, 0]);
    // All fences now and then, one otherwise.
    expect([read < 5 * 64 + 43, new Set(clock.slept)]).toEqual([true, new Set([500])]);
    await taken('bo');
    expect(await counted(9_000, 'bo')).toEqual([0]);
    await command('SET', keys.fence(5), fence('bo', 'free'));
    expect(await counted(7_500, 'bo')).toEqual([0, 1]);
  } finally {
    stop.abort();
  }
});
