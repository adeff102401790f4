import { leadership, rendered, unsettled } from './end-state.ts';
import { type FaultName, faults, heal, later } from './faults.ts';
import { Scene } from './scene.ts';

const settleMsMax = 40_000;
const lookMs = 250;

export interface Outcome {
  seed: number;
  fault: Error | null;
  said: readonly string[];
  reads: number;
  answered: number;
}

/** One world from its seed: faults while it changes and is read, then peace, in which all must come right. */
export async function runSeed(seed: number, only: readonly FaultName[] = names): Promise<Outcome> {
  const scene = new Scene(seed);
  let fault: Error | null = null;
  try {
    plan(scene, only);
    await scene.goOn(scene.random.int(4_000, 11_000));
    scene.say('all is well from now on');
    scene.quiet = true;
    heal(scene);
    await settle(scene);
  } catch (cause) {
    fault = cause as Error;
  }
  const answered = scene.readers.reduce((sum, reader) => sum + reader.answered, 0);
  return { seed, fault, said: scene.said, reads: scene.reads, answered };
}

const names = Object.keys(faults) as FaultName[];

/** When what happens. */
function plan(scene: Scene, only: readonly FaultName[]): void {
  const { random, timeline } = scene;
  for (let i = random.int(1, 3); i > 0; i--) timeline.after(random.int(0, 1_500), () => void scene.startProjector());
  const from = random.chance(0.8) ? 3_000 : 0;
  for (let i = random.int(1, 6); i > 0; i--) {
    const name = random.pick(only);
    later(scene, random.int(from, 8_000), () => {
      scene.say(name);
      faults[name](scene);
    });
  }
  for (let i = random.int(5, 40); i > 0; i--) later(scene, random.int(0, 9_000), () => scene.publish());
  const readOn = (): void => {
    scene.read();
    if (scene.quiet) return;
    timeline.after(random.int(1, 160), readOn);
  };
  timeline.after(2_500, readOn);
}

/** Waits until all is as it must be, and sees that it stays so. */
export async function settle(scene: Scene): Promise<void> {
  const untilMs = scene.timeline.nowMs + settleMsMax;
  for (;;) {
    await scene.goOn(lookMs);
    // The last one was told to stop, and has.
    if (!scene.projectors.some(({ alive }) => alive)) scene.startProjector();
    const [first] = unsettled(scene, rendered(scene));
    if (first === undefined) break;
    if (scene.timeline.nowMs > untilMs) throw new Error(`It did not come right: ${first}`);
  }
  const before = leadership(scene);
  await scene.goOn(1_500);
  const [first] = unsettled(scene, rendered(scene));
  if (first !== undefined) throw new Error(`It did not stay right: ${first}`);
  if (leadership(scene) !== before) throw new Error('The leader changed while all was well');
}
