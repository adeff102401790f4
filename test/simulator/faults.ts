import type { Snapshot } from './redis-in-memory.ts';
import type { Scene } from './scene.ts';
import { tags } from './world.ts';

/** What goes wrong. Each fault mends itself after a while, or is mended in the end. */
export type FaultName = keyof typeof faults;

const pickOne =
  (scene: Scene) =>
  (channels: readonly string[]): string =>
    scene.random.pick(channels);

const startAgain = (scene: Scene): void => {
  // Some never come back.
  if (scene.random.chance(0.7)) later(scene, scene.random.int(0, 4_000), () => void scene.startProjector());
};

/** A master goes away, and another process comes back with what it held when the snapshot was made. */
function comeBack(scene: Scene, index: number, snapshot: Snapshot): void {
  const { random, masters, timeline } = scene;
  const master = masters[index]!;
  if (!master.up) return;
  // A replica that was resynchronised keeps its run id.
  const process = scene.newProcess(random.chance(0.2) ? master.redis.runId : null);
  master.stop();
  const outageMs = random.chance(0.5) ? random.int(1, 100) : random.int(100, 3_000);
  timeline.after(outageMs, () => {
    scene.say(`master ${index} is ${process.runId}:${process.replicationId} now`);
    master.start(snapshot, process);
  });
}

const anyMaster = ({ random, masters }: Scene): number => random.int(0, masters.length - 1);

/** Happens later, unless peace has come. */
export const later = (scene: Scene, ms: number, happen: () => void): void =>
  scene.timeline.after(ms, () => {
    if (!scene.quiet) happen();
  });

export const faults = {
  killProjector(scene: Scene) {
    const { random, projectors } = scene;
    if (projectors.length === 0) return;
    const killed = random.pick(projectors);
    killed.process.kill();
    startAgain(scene);
  },
  killAllProjectors(scene: Scene) {
    for (const { process } of scene.projectors) process.kill();
    startAgain(scene);
  },
  stopProjector(scene: Scene) {
    const { random, projectors } = scene;
    if (projectors.length === 0) return;
    random.pick(projectors).stop();
    startAgain(scene);
  },
  startProjector(scene: Scene) {
    if (scene.projectors.filter(({ alive }) => alive).length < 3)
      scene.startProjector(scene.random.pick(['same', 'other']));
  },
  freezeProjector(scene: Scene) {
    const { random, projectors, timeline } = scene;
    if (projectors.length === 0) return;
    const { process } = random.pick(projectors);
    process.freeze();
    timeline.after(random.int(100, 7_000), () => process.resume(pickOne(scene)));
  },
  freezeApi(scene: Scene) {
    const { random, apis, timeline } = scene;
    const { process } = random.pick(apis);
    process.freeze();
    timeline.after(random.int(100, 6_000), () => process.resume(pickOne(scene)));
  },
  restartApi(scene: Scene) {
    scene.restartApi(scene.random.int(0, scene.apis.length - 1));
  },
  restoreStore(scene: Scene) {
    const index = anyMaster(scene);
    const { snapshot } = scene.masters[index]!.redis;
    later(scene, scene.random.int(0, 4_000), () => comeBack(scene, index, snapshot));
  },
  restoreStoreAndProjectors(scene: Scene) {
    const index = anyMaster(scene);
    const { snapshot } = scene.masters[index]!.redis;
    later(scene, scene.random.int(500, 4_000), () => {
      for (const { process } of scene.projectors) process.kill();
      scene.timeline.after(scene.random.int(0, 1_000), () => void scene.startProjector());
      comeBack(scene, index, snapshot);
    });
  },
  failOver(scene: Scene) {
    const index = anyMaster(scene);
    const { snapshot } = scene.masters[index]!.redis;
    later(scene, scene.random.int(0, 300), () => comeBack(scene, index, snapshot));
  },
  emptyStore(scene: Scene) {
    scene.masters[anyMaster(scene)]!.redis.empty();
  },
  loseFence(scene: Scene) {
    const tag = scene.random.pick(tags);
    scene.masters[tag % scene.masters.length]!.redis.command(['DEL', scene.around.keys.fence(tag)]);
  },
  freezeStore(scene: Scene) {
    const master = scene.masters[anyMaster(scene)]!;
    master.freeze();
    scene.timeline.after(scene.random.int(100, 5_000), () => master.resume());
  },
  badWeather(scene: Scene) {
    const { random, weather, timeline } = scene;
    weather.breaks = random.pick([0, 0.02, 0.1]);
    weather.slow = random.pick([0, 0.05, 0.3]);
    timeline.after(random.int(500, 4_000), () => clear(scene));
  },
  truncateLog(scene: Scene) {
    const { random, log, judge } = scene;
    judge.lost(log.truncate(random.int(0, log.partitions.length - 1), random.int(1, 4)));
    for (let i = random.int(0, 8); i > 0; i--) later(scene, random.int(0, 300), () => scene.publish());
  },
  jumpClocks(scene: Scene) {
    const { random } = scene;
    scene.storeSkewMs += random.int(-7_200_000, 3_600_000);
    scene.calendarSkewMs += random.int(-30_000, 90_000_000);
  },
} satisfies Record<string, (scene: Scene) => void>;

function clear({ weather }: Scene): void {
  weather.breaks = 0;
  weather.slow = 0;
}

/** All is well from now on. */
export function heal(scene: Scene): void {
  clear(scene);
  for (const { process } of [...scene.projectors, ...scene.apis]) process.resume(pickOne(scene));
  for (const master of scene.masters) master.resume();
  scene.projectors = scene.projectors.filter(({ alive }) => alive);
  if (scene.projectors.length === 0) scene.startProjector();
}
