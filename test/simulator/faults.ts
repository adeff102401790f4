import { logFaults } from './log-faults.ts';
import { fairWeather } from './network.ts';
import { allPairs, pairOf } from './pairs.ts';
import { processFaults } from './process-faults.ts';
import type { Scene } from './scene.ts';
import { storeFaults } from './store-faults.ts';

/** What goes wrong. Each fault mends itself after a while, or is mended in the end. It says when it strikes. */
export const faults = { ...processFaults, ...storeFaults, ...logFaults } satisfies Record<
  string,
  (scene: Scene) => void
>;
export type FaultName = keyof typeof faults;
export const faultNames = Object.keys(faults) as FaultName[];

/** So often must every pair meet in 5,000 worlds. */
export const metMin = 10;

/** Pairs of faults that met less often, the rarest first. */
export const rarePairs = (met: Readonly<Record<string, number>>): [name: string, count: number][] =>
  allPairs(faultNames)
    .map(([one, other]): [string, number] => [pairOf(one, other), met[pairOf(one, other)] ?? 0])
    .filter(([, count]) => count < metMin)
    .sort(([, a], [, b]) => a - b);

/** All is well from now on, but for what is still on its way. */
export function heal(scene: Scene): void {
  scene.goesOn(Math.max(0, ...scene.weather.late.values()));
  Object.assign(scene.weather, fairWeather());
  for (const { process } of [...scene.projectors, ...scene.apis]) process.resume(scene.pickOne);
  for (const master of scene.masters) {
    master.redis.refuses = null;
    master.resume();
  }
  for (const stray of scene.strays) {
    stray.process.resume(scene.pickOne);
    stray.stop();
  }
  scene.log.hangs = false;
  for (const index of scene.log.partitions.keys()) scene.log.endTransaction(index, scene.random.chance(0.6));
  scene.log.resume();
  startMissing(scene);
}

/** A world without a projector gets one: the last one was killed, or was told to stop, and has. */
export function startMissing(scene: Scene): void {
  scene.projectors = scene.projectors.filter(({ alive }) => alive);
  if (scene.projectors.length === 0) scene.startProjector();
}
