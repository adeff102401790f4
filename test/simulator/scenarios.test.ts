import { expect, it } from 'vitest';
import type { Master } from './network.ts';
import type { ProjectorProcess } from './processes.ts';
import { settle } from './run-seed.ts';
import { Scene } from './scene.ts';
import { rides } from './world.ts';

// What once went wrong, or is most likely to, step by step. Random worlds are in simulator.test.ts.

/** A world with a leader whose views stand. */
async function led(): Promise<Scene> {
  const scene = new Scene(1);
  scene.startProjector();
  await settle(scene);
  return scene;
}

it('a leader that stood still while another led stamps no store that is restored to its own time, before it has caught up', async () => {
  const scene = await led();
  const [first] = scene.projectors as [ProjectorProcess];
  const standby = scene.startProjector();
  await settle(scene);
  const [master] = scene.masters as [Master];
  first.process.freeze();
  await scene.goOn(50);
  const { snapshot } = master.redis;
  for (const ride of rides) scene.publish(scene.changes.ride(ride));
  await scene.goOn(5_000);
  expect(standby.leads).toBe(true);
  for (let i = 0; i < 200; i++) scene.read();
  await scene.goOn(500);
  master.stop();
  standby.process.kill();
  master.start(snapshot, scene.newProcess(null));
  // What the other leader wrote is not known before the log answers.
  scene.log.freeze();
  first.process.resume((channels) => channels[0]!);
  // Whoever is told something older than before fails the world.
  for (let i = 0; i < 100; i++) {
    await scene.goOn(10);
    for (let each = 0; each < 10; each++) scene.read();
  }
  scene.log.resume();
  await settle(scene);
  expect(first.leads).toBe(true);
});

it('what is not readable grows older over all losses until a compare is done', async () => {
  const scene = await led();
  const { projector } = scene.projectors[0]!;
  const untilRepair = async (is: boolean) => {
    while (projector.status().tagsInRepair > 0 !== is) await scene.timeline.step();
  };
  const since: (number | null)[] = [];
  for (let loss = 0; loss < 3; loss++) {
    scene.masters[0]!.redis.empty();
    await untilRepair(false);
    await untilRepair(true);
    since.push(projector.status().unreadableSinceMs);
  }
  expect(since[0]).not.toBeNull();
  expect(new Set(since).size).toBe(1);
  await settle(scene);
  expect(projector.status().unreadableSinceMs).toBeNull();
});

it('a leader that is told to stop as soon as its first fill is finished leaves nothing to compare', async () => {
  const scene = new Scene(1);
  const first = scene.startProjector();
  while (!first.projector.ready) await scene.timeline.step();
  first.stop();
  while (first.alive) await scene.timeline.step();
  scene.startProjector();
  await settle(scene);
  expect(scene.said.join('\n')).toContain('the log holds what the views were made of');
  expect(scene.said.join('\n')).toContain('to compare: 0 parts');
});
