import { expect, it } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { Invalidations } from '../../../../infra/redis/views/invalidations.ts';
import { allTags, tagCount } from '../../../../schemas/views/view-keys.ts';
import { SteppingClock } from '../../../support/stores/stepping-clock.ts';

/** Invalidations by a clock that steps, and all that its listener was told. */
function scene() {
  const keys = redisKeys('test:');
  const clock = new SteppingClock();
  const told: string[] = [];
  const invalidations = new Invalidations(
    keys,
    {
      changed: (key: string) => void told.push(key),
      allChanged: () => void told.push('all changed'),
      hearing: (hears: boolean) => void told.push(hears ? 'hearing' : 'deaf'),
    },
    clock,
    tagCount,
  );
  const message = (...names: string[]) => invalidations.message(names.map((name) => Buffer.from(name)));
  /** These tags are heard of. Returns what the listener was told since the last time. */
  const beat = (tags: readonly number[] = allTags) => {
    message(...tags.map(keys.fence));
    invalidations.check();
    return told.splice(0);
  };
  return { keys, clock, invalidations, message, beat, since: () => told.splice(0) };
}

it('changes are surely heard once every tag is, until one is silent for more than two seconds', async () => {
  const { invalidations, clock, beat, since } = scene();
  expect(beat(allTags.slice(1))).toEqual([]);
  expect(beat([0])).toEqual(['hearing']);
  await clock.sleep(1_500);
  beat(allTags.slice(1));
  await clock.sleep(500);
  invalidations.check();
  expect(since()).toEqual([]);
  await clock.sleep(1);
  invalidations.check();
  invalidations.check();
  expect(since()).toEqual(['deaf', 'all changed']);
  expect(beat([0])).toEqual(['hearing']);
});

it.each(['an answer after a pause', 'a message after a pause', 'a check after a pause', 'a connection that changed'])(
  'nothing is heard for sure from %s on, and every tag must be heard of anew',
  async (first) => {
    const { keys, clock, invalidations, beat, message, since } = scene();
    expect(beat()).toEqual(['hearing']);
    if (first !== 'a connection that changed') await clock.sleep(10_000);
    if (first === 'an answer after a pause') invalidations.noticePause();
    else if (first === 'a message after a pause') message(keys.fence(3));
    else if (first === 'a check after a pause') invalidations.check();
    else invalidations.connectionChanged();
    expect(since()).toEqual(['deaf', 'all changed']);
    // What it heard before no longer counts.
    expect(beat(allTags.slice(1))).toEqual([]);
    expect(beat()).toEqual(['hearing']);
  },
);
