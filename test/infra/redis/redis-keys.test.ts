import { describe, expect, it } from 'vitest';
import { fenceText, parseFence, redisKeys } from '../../../infra/redis/redis-keys.ts';
import { readerKey } from '../../../schemas/views/reader-fields.ts';
import { completeKey, tagOf } from '../../../schemas/views/view-keys.ts';
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

  it('has the prefix, the format, a layer, a tag, a kind and a name', () => {
    const others = `other:g3:pub:{v1}:ride:loop app:g5:pub:{v1}:ride:loop app:g3:x:pub:{v1}:ride:loop app:g3:pub:{vx}:ride:loop
      app:g3:pub:{v1}:RIDE:loop app:g3:pub:{v1}:ride ${keys.position(1)} ${keys.fence(1)}`;
    expect(others.split(/\s+/).filter((one) => keys.viewOf(one) ?? keys.fromRedis(one))).toEqual([]);
  });
});

// Processes of two versions read them, side by side.
it('the notes that processes leave one another, and schemas, are found again by their names', () => {
  const { fence, position, open, coming, led, unreadable, asked, schemas } = keys;
  const ofTag = [fence, position, open, coming, led].map((of) => of(7));
  expect([...ofTag, unreadable(), asked(), schemas]).toEqual([
    'app:g3:pub:{v7}:fence',
    ...['position', 'open', 'coming', 'led'].map((name) => `app:g3:tag:{v7}:${name}`),
    'app:g3:tag:{v0}:unreadable',
    'app:g3:tag:{v0}:asked',
    'app:schemas',
  ]);
});

describe('what a key of our format is', () => {
  it('a view, or a note of projectors', () => {
    expect(keys.placeOf(keys.toRedis(rideKey('loop')))).toEqual({ tag, kind: 'ride', id: 'loop' });
    expect(keys.placeOf(keys.toRedis(readerKey('loop')))).toEqual({ tag, kind: 'reader', id: 'loop' });
    const notes = [keys.fence, keys.complete, keys.position, keys.open, keys.coming, keys.led].map((note) => note(63));
    expect([...notes, keys.unreadable()].filter((key) => keys.placeOf(key) !== null)).toEqual([]);
  });

  it.each([
    ['in another tag than its name has', `pub:{v${tag + 1}}:ride:loop`, tag + 1],
    ['of another layer', `me:{v${tag}}:ride:loop`, tag],
    ['of a kind that no view has', `pub:{v${tag}}:route:loop`, tag],
    ['of the last tag', 'tag:{v63}:schema:', 63],
    ['of a tag that is none', 'tag:{v64}:position', -1],
    ['whose first hash tag is another', 'tag:{other}{v5}:position', -1],
    ['in no tag', 'x', -1],
  ])('a foreign one, to be removed: %s', (_, id, inTag) => {
    expect(keys.placeOf(`app:g3:${id}`)).toEqual({ tag: inTag, kind: 'foreign', id });
    expect(keys.of(inTag, 'foreign', id)).toBe(`app:g3:${id}`);
  });
});

it('a fence is known by its key, with its tag, and is written as it is read', () => {
  expect([0, 7, 63].map((each) => keys.fenceTag(keys.fence(each)))).toEqual([0, 7, 63]);
  const others = ['other:g3:pub:{v1}:fence', 'app:g3:x:pub:{v1}:fence', 'app:g3:pub:{v1}:fence:x', keys.complete(1)];
  expect(others.map((key) => keys.fenceTag(key))).toEqual([-1, -1, -1, -1]);
  const fence = { epoch: 1_700_000_000_000, sequence: 12, owner: 'ada', state: 'led' } as const;
  expect(fenceText(fence)).toBe('1700000000000:12:ada:led');
  expect(parseFence(fenceText(fence))).toEqual(fence);
  expect(parseFence('')).toEqual({ epoch: 0, sequence: 0, owner: '', state: '' });
});
