import { expect, it } from 'vitest';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { Invalidations } from '../../../../infra/redis/views/invalidations.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { rideKey } from '../../../../schemas/views/view-kinds.ts';
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

it('a change is told by its view, keys of others are not, and without keys anything may have changed', () => {
  const { keys, invalidations, message, since } = scene();
  const ride = rideKey('tuesday-loop');
  message(keys.toRedis(ride), 'other:g3:pub:{v1}:ride:x', 'test:g0:pub:{v1}:ride:x');
  expect(since()).toEqual([ride]);
  invalidations.message(null);
  expect(since()).toEqual(['all changed']);
});

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

it('a connection that changes ends it at once, and every tag must be heard of anew', () => {
  const { invalidations, beat, since } = scene();
  invalidations.connectionChanged();
  expect(since()).toEqual(['all changed']);
  beat();
  invalidations.connectionChanged();
  expect(since()).toEqual(['deaf', 'all changed']);
  expect(beat(allTags.slice(1))).toEqual([]);
  expect(beat([0])).toEqual(['hearing']);
});

it.each(['an answer', 'a message', 'the check'])(
  'a process that was paused hears nothing for sure, also if it goes on with %s',
  async (first) => {
    const { keys, clock, invalidations, beat, message, since } = scene();
    expect(beat()).toEqual(['hearing']);
    await clock.sleep(10_000);
    if (first === 'an answer') invalidations.noticePause();
    else if (first === 'a message') message(keys.fence(3));
    else invalidations.check();
    expect(since()).toEqual(['deaf', 'all changed']);
    // What it heard before the pause no longer counts.
    expect(beat(allTags.slice(1))).toEqual([]);
    expect(beat()).toEqual(['hearing']);
  },
);
