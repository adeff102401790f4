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
  const listener = {
    changed: (key: string) => void told.push(key),
    allChanged: () => void told.push('all changed'),
    hearing: (hears: boolean) => void told.push(hears ? 'hearing' : 'deaf'),
  };
  const invalidations = new Invalidations(keys, listener, clock);
  const message = (...names: string[]) => invalidations.message(names.map((name) => Buffer.from(name)));
  const beats = (tags: readonly number[] = allTags) => message(...tags.map(keys.fence));
  /** What the listener was told since the last time. */
  const since = () => told.splice(0);
  return { keys, clock, invalidations, message, beats, since };
}

const ride = rideKey('tuesday-loop');

it('a change is told by its view, and keys of others are not', () => {
  const { keys, message, since } = scene();
  message(keys.toRedis(ride), 'other:g3:pub:{v1}:ride:x', 'test:g0:pub:{v1}:ride:x');
  expect(since()).toEqual([ride]);
});

it('a message without keys tells that anything may have changed', () => {
  const { invalidations, since } = scene();
  invalidations.message(null);
  expect(since()).toEqual(['all changed']);
});

it('changes are surely heard once every tag has been heard of, and that is said once', () => {
  const { invalidations, beats, since } = scene();
  beats(allTags.slice(1));
  invalidations.check();
  expect(since()).toEqual([]);
  beats([0]);
  invalidations.check();
  invalidations.check();
  expect(since()).toEqual(['hearing']);
});

it('one tag that is silent for more than two seconds ends it, until it is heard of again', async () => {
  const { invalidations, clock, beats, since } = scene();
  beats();
  invalidations.check();
  await clock.sleep(1_500);
  beats(allTags.slice(1));
  await clock.sleep(500);
  invalidations.check();
  expect(since()).toEqual(['hearing']);
  await clock.sleep(1);
  invalidations.check();
  invalidations.check();
  expect(since()).toEqual(['deaf', 'all changed']);
  beats([0]);
  invalidations.check();
  expect(since()).toEqual(['hearing']);
});

it('a connection that changes ends it at once, and every tag must be heard of anew', () => {
  const { invalidations, beats, since } = scene();
  beats();
  invalidations.check();
  invalidations.connectionChanged();
  expect(since()).toEqual(['hearing', 'deaf', 'all changed']);
  invalidations.check();
  expect(since()).toEqual([]);
  beats();
  invalidations.check();
  expect(since()).toEqual(['hearing']);
});

it('a connection that changes while nothing is surely heard still tells that anything may have changed', () => {
  const { invalidations, since } = scene();
  invalidations.connectionChanged();
  expect(since()).toEqual(['all changed']);
});

it('a process that was paused hears nothing for sure, whatever it does first when it goes on', async () => {
  for (const first of ['an answer', 'a message', 'the check'] as const) {
    const { keys, clock, invalidations, beats, message, since } = scene();
    beats();
    invalidations.check();
    expect(since()).toEqual(['hearing']);
    await clock.sleep(10_000);
    if (first === 'an answer') invalidations.noticePause();
    else if (first === 'a message') message(keys.fence(3));
    else invalidations.check();
    expect(since()).toEqual(['deaf', 'all changed']);
    // What it heard before the pause no longer counts.
    beats(allTags.slice(1));
    invalidations.check();
    expect(since()).toEqual([]);
    beats();
    invalidations.check();
    expect(since()).toEqual(['hearing']);
  }
});
