import { describe, expect, it } from 'vitest';
import { fenceText, otherFormats, parseFence, redisKeys } from '../../../infra/redis/redis-keys.ts';
import { readerKey } from '../../../schemas/views/reader-fields.ts';
import { completeKey, tagOf, viewFormat } from '../../../schemas/views/view-keys.ts';
import { dayKey, developerKeyKey, rideKey, riderKey } from '../../../schemas/views/view-kinds.ts';

const keys = redisKeys('app:', 3);
const tag = tagOf('loop');

describe('the key of a view in Redis', () => {
  it.each([
    [dayKey('portland', '2015-06-13'), /^app:g3:pub:\{v\d+\}:day:portland\/2015-06-13$/],
    [riderKey('ada'), /^app:g3:pub:\{v\d+\}:rider:ada$/],
    [developerKeyKey('a:b\n{v7}'), /^app:g3:pub:\{v\d+\}:key:a:b\n\{v7\}$/],
    [readerKey('ada'), /^app:g3:me:\{v\d+\}:reader:ada$/],
    [completeKey(12), /^app:g3:pub:\{v12\}:complete:$/],
  ])('%s is found again by it', (key, spelled) => {
    const redisKey = keys.toRedis(key);
    expect(redisKey).toMatch(spelled);
    expect(keys.fromRedis(redisKey)).toBe(key);
  });

  it.each([
    'other:g3:pub:{v1}:ride:loop',
    'app:g4:pub:{v1}:ride:loop',
    'app:g3:x:pub:{v1}:ride:loop',
    'app:g3:pub:{vx}:ride:loop',
    'app:g3:pub:{v1}:RIDE:loop',
    'app:g3:pub:{v1}:ride',
    keys.position(1),
    keys.fence(1),
  ])('is not %s', (redisKey) => {
    expect([keys.viewOf(redisKey), keys.fromRedis(redisKey)]).toEqual([null, null]);
  });
});

describe('what a key of our format is', () => {
  it.each([rideKey('loop'), readerKey('loop')])('a view: %s', (key) => {
    const kind = key.includes('ride:') ? 'ride' : 'reader';
    expect(keys.placeOf(keys.toRedis(key))).toEqual({ tag, kind, id: 'loop' });
  });

  it.each(['fence', 'complete', 'position', 'open', 'coming', 'led'] as const)('a note of projectors: %s', (note) => {
    for (const each of [0, 63]) expect(keys.placeOf(keys[note](each))).toBeNull();
  });

  it('a note of all tags together', () => {
    const { unreadable, schema } = redisKeys('app:', 3);
    expect([unreadable(), schema('a/1')].map((key) => keys.placeOf(key))).toEqual([null, null]);
  });

  it.each([
    ['in another tag than its name has', `pub:{v${tag + 1}}:ride:loop`, tag + 1],
    ['of another layer', `me:{v${tag}}:ride:loop`, tag],
    ['of a kind that no view has', `pub:{v${tag}}:route:loop`, tag],
    ['of the last tag', 'tag:{v63}:schema:', 63],
    ['of the first tag', 'tag:{v0}:lost', 0],
    ['of a tag that is none', 'tag:{v64}:position', -1],
    ['whose first hash tag is another', 'tag:{other}{v5}:position', -1],
    ['in no tag', 'x', -1],
  ])('a foreign one, to be removed: %s', (_, id, inTag) => {
    expect(keys.placeOf(`app:g3:${id}`)).toEqual({ tag: inTag, kind: 'foreign', id });
    expect(keys.of(inTag, 'foreign', id)).toBe(`app:g3:${id}`);
  });
});

it('a fence is known by its key, with its tag', () => {
  expect([0, 7, 63].map((each) => keys.fenceTag(keys.fence(each)))).toEqual([0, 7, 63]);
  const others = ['other:g3:pub:{v1}:fence', 'app:g3:x:pub:{v1}:fence', 'app:g3:pub:{v1}:fence:x', keys.complete(1)];
  expect(others.map((key) => keys.fenceTag(key))).toEqual([-1, -1, -1, -1]);
});

it('a fence is written as it is read, and an empty one has no owner', () => {
  const fence = { epoch: 1_700_000_000_000, sequence: 12, owner: 'ada', state: 'led' } as const;
  expect(fenceText(fence)).toBe('1700000000000:12:ada:led');
  expect(parseFence(fenceText(fence))).toEqual(fence);
  expect(parseFence('')).toEqual({ epoch: 0, sequence: 0, owner: '', state: '' });
});

it('other formats are all but ours', () => {
  expect(otherFormats).toHaveLength(98);
  expect([otherFormats[0], otherFormats.at(-1), otherFormats.includes(viewFormat)]).toEqual([1, 99, false]);
});
