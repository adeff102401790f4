import { expect, it } from 'vitest';
import type { ChangeListener } from '../../../../api/ports/view-reader.ts';
import { redisKeys } from '../../../../infra/redis/redis-keys.ts';
import { Invalidations } from '../../../../infra/redis/views/invalidations.ts';
import { allTags, tagCount } from '../../../../schemas/views/view-keys.ts';
import { rideKey } from '../../../../schemas/views/view-kinds.ts';
import { SteppingClock } from '../../../support/stores/stepping-clock.ts';

const loop = rideKey('loop');

/** Invalidations by a clock that steps, and all that its listener was told. */
function scene() {
  const keys = redisKeys('test:');
  const clock = new SteppingClock();
  const told: string[] = [];
  const listener: ChangeListener = {
    changed: (key) => void told.push(key),
    allChanged: () => void told.push('all changed'),
    hearing: (hears) => void told.push(hears ? 'hearing' : 'deaf'),
  };
  const invalidations = new Invalidations(keys, listener, clock, tagCount);
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
  const { keys, invalidations, clock, message, beat, since } = scene();
  expect(beat(allTags.slice(1))).toEqual([]);
  expect(beat([0])).toEqual(['hearing']);
  message(keys.toRedis(loop), keys.publicPrefix);
  invalidations.message(null);
  expect(since()).toEqual([loop, 'all changed']);
  await clock.sleep(2_000);
  invalidations.noticePause();
  expect(beat()).toEqual([]);
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

it.each<[first: string, pauseMs: number, happens: (of: ReturnType<typeof scene>) => void]>([
  ['an answer after a pause', 10_000, ({ invalidations }) => invalidations.noticePause()],
  ['a message after a pause', 10_000, ({ keys, message }) => message(keys.fence(3))],
  ['a check after a pause', 10_000, ({ invalidations }) => invalidations.check()],
  ['a connection that changed', 0, ({ invalidations }) => invalidations.connectionChanged()],
])('nothing is heard for sure from %s on, and every tag must be heard of anew', async (_, pauseMs, happens) => {
  const heard = scene();
  expect(heard.beat()).toEqual(['hearing']);
  if (pauseMs > 0) await heard.clock.sleep(pauseMs);
  happens(heard);
  expect(heard.since()).toEqual(['deaf', 'all changed']);
  // What it heard before no longer counts.
  expect(heard.beat(allTags.slice(1))).toEqual([]);
  expect(heard.beat()).toEqual(['hearing']);
});
