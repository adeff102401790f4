import type { Scene } from './scene.ts';

/** Happens later, unless peace has come. */
export const later = (scene: Scene, ms: number, happen: () => void): void =>
  scene.timeline.after(ms, () => {
    if (!scene.quiet) happen();
  });

export function readOften(scene: Scene, fromMs: number, toMs: number): void {
  for (let i = 0; i < 12; i++) later(scene, scene.random.int(fromMs, toMs), () => scene.read());
}

export const pickOne =
  (scene: Scene) =>
  (channels: readonly string[]): string =>
    scene.random.pick(channels);
