import { expect, it } from 'vitest';
import { settle } from './run-seed.ts';
import { Scene, type SceneOptions } from './scene.ts';
import { rides } from './world.ts';

// What once went wrong, or is most likely to, step by step. Random worlds are in simulator.test.ts.

/** A world with a leader whose views stand. */
async function led(options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene(1, { masters: 1, openNamesMax: 20_000, ...options });
  scene.startProjector();
  await settle(scene);
  return scene;
}

it('a leader that loses one tag still writes what another tag had not answered', async () => {
  const scene = await led({ masters: 2 });
  const [, away] = scene.masters;
  const held = away!.redis.snapshot;
  const { runId, replicationId } = away!.redis;
  away!.stop();
  await scene.goOn(300);
  for (const ride of rides) scene.publish(scene.changes.ride(ride));
  // Rounds end without the tag that is away.
  await scene.goOn(1_000);
  scene.masters[0]!.redis.command(['DEL', scene.around.keys.fence(0)]);
  await scene.goOn(1_000);
  away!.start(held, { runId, replicationId });
  await settle(scene);
  // The position moves on as well: a lost tag's compare ends only with it.
  expect(scene.said.join('\n')).toContain('taking it again');
});
