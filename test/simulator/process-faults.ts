import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { olderFormat, type ProjectorProcess, type Surroundings, thisFormat } from './processes.ts';
import type { Scene } from './scene.ts';

// How long a projector must not have moved its fence until another one leads, and a little more.
const takeOverMs = 3_200;

const projectorsMax = 4;

// Mostly soon, so that a short world has it.
const anyDelay = ({ random }: Scene): number => random.int(0, random.pick([1_000, 1_000, 4_000]));

export function startAgain(scene: Scene): void {
  // Some never come back.
  if (scene.random.chance(0.7)) scene.later(anyDelay(scene), () => void scene.startProjector());
}

function startStray(scene: Scene, name: string, mistaken: Partial<Surroundings>): void {
  const stray = scene.startStray({ ...scene.around, ...mistaken }, name);
  scene.lasts(name, scene.random.int(500, 5_000), () => stray.stop());
}

/** One that runs. If none does, it has just been started. */
function anyProjector(scene: Scene): ProjectorProcess {
  const alive = scene.projectors.filter((each) => each.alive);
  return alive.length > 0 ? scene.random.pick(alive) : scene.startProjector();
}

/** What happens to processes and their clocks. */
export const processFaults = {
  killProjector(scene: Scene) {
    const killed = anyProjector(scene);
    if (killed.leads && scene.random.chance(0.2)) scene.goesOn(takeOverMs + 500);
    killed.process.kill();
    startAgain(scene);
    scene.struck('killProjector');
  },
  killAllProjectors(scene: Scene) {
    for (const { process } of scene.projectors) process.kill();
    startAgain(scene);
    scene.struck('killAllProjectors');
  },
  stopProjector(scene: Scene) {
    anyProjector(scene).stop();
    startAgain(scene);
    scene.struck('stopProjector');
  },
  startProjector(scene: Scene) {
    if (scene.projectors.filter(({ alive }) => alive).length >= projectorsMax) return;
    scene.startProjector();
    scene.struck('startProjector');
  },
  freezeProjector(scene: Scene) {
    const { random } = scene;
    const { process, leads } = anyProjector(scene);
    process.freeze();
    const isLong = random.chance(leads ? 0.4 : 0.1);
    const pauseMs = isLong ? random.int(takeOverMs - 700, takeOverMs + 2_000) : random.int(100, 2_000);
    // A leader that goes on after another one has taken over is to be read after, too.
    if (isLong) scene.goesOn(pauseMs + 500);
    scene.lasts('freezeProjector', pauseMs, () => process.resume(scene.pickOne));
  },
  freezeApi(scene: Scene) {
    const { random, apis } = scene;
    const { process } = random.pick(apis);
    process.freeze();
    const pauseMs = random.int(100, random.pick([1_000, 3_000, 6_000]));
    if (pauseMs < 3_000) scene.goesOn(pauseMs + 300);
    scene.lasts('freezeApi', pauseMs, () => process.resume(scene.pickOne));
  },
  restartApi(scene: Scene) {
    scene.restartApi(scene.random.int(0, scene.apis.length - 1));
    scene.struck('restartApi');
  },
  /** A projector that reaches the store late: each of its looks takes longer than a beat. */
  slowProjector(scene: Scene) {
    const { random, weather } = scene;
    const { name } = anyProjector(scene).process;
    weather.late.set(name, random.int(500, 2_200));
    scene.lasts('slowProjector', random.int(1_000, 4_000), () => weather.late.delete(name));
  },
  /** Somebody starts a projector with other settings, and stops it once they notice. */
  startWithOtherPrefix(scene: Scene) {
    startStray(scene, 'startWithOtherPrefix', { keys: redisKeys('other:', thisFormat) });
  },
  startOlderBuild(scene: Scene) {
    startStray(scene, 'startOlderBuild', { keys: redisKeys('', olderFormat) });
  },
  startWithOtherLog(scene: Scene) {
    const adapter: Surroundings['log']['adapter'] = (...args) => ({
      ...scene.log.adapter(...args),
      identity: async () => 'another log',
    });
    startStray(scene, 'startWithOtherLog', { log: { adapter } });
  },
  jumpClocks(scene: Scene) {
    const { random } = scene;
    scene.storeSkewMs += random.int(-7_200_000, 3_600_000);
    scene.calendarSkewMs += random.int(-30_000, 90_000_000);
    scene.struck('jumpClocks');
  },
};
