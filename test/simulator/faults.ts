import type { Snapshot } from './redis-in-memory.ts';
import type { Scene } from './scene.ts';
import type { Published } from './simulated-log.ts';
import { tags } from './world.ts';

/** What goes wrong. Each fault mends itself after a while, or is mended in the end. */
export type FaultName = keyof typeof faults;

const pickOne =
  (scene: Scene) =>
  (channels: readonly string[]): string =>
    scene.random.pick(channels);

// Mostly soon, so that a short world has it.
const anyDelay = ({ random }: Scene): number => random.int(0, random.pick([1_000, 1_000, 4_000]));

// How long a projector must not have moved its fence until another one leads, and a little more.
const takeOverMs = 3_200;

const startAgain = (scene: Scene): void => {
  // Some never come back.
  if (scene.random.chance(0.7)) later(scene, anyDelay(scene), () => void scene.startProjector());
};

/** A master goes away, and another process comes back with what it held when the snapshot was made. */
function comeBack(scene: Scene, index: number, snapshot: Snapshot): void {
  const { random, masters, timeline } = scene;
  const master = masters[index]!;
  if (!master.up) return;
  // A replica that was resynchronised keeps its run id.
  const process = scene.newProcess(random.chance(0.2) ? master.redis.runId : null);
  master.stop();
  const outageMs = random.int(1, random.pick([100, 1_000, 3_000]));
  // What it holds now is to be read.
  if (outageMs < 1_000) scene.goesOn(outageMs + 800);
  readOften(scene, outageMs, outageMs + 600);
  timeline.after(outageMs, () => {
    scene.say(`master ${index} is ${process.runId}:${process.replicationId} now`);
    master.start(snapshot, process);
  });
}

function readOften(scene: Scene, fromMs: number, toMs: number): void {
  for (let i = 0; i < 12; i++) later(scene, scene.random.int(fromMs, toMs), () => scene.read());
}

/** A snapshot of a master: from now on it gets older, and readers see what is newer. */
function aged(scene: Scene, restore: (index: number, snapshot: Snapshot) => void): void {
  const { random } = scene;
  const index = anyMaster(scene);
  const { snapshot } = scene.masters[index]!.redis;
  for (let i = random.int(0, 3); i > 0; i--) later(scene, random.int(0, 200), () => scene.publish());
  const ageMs = 300 + anyDelay(scene);
  readOften(scene, 200, ageMs);
  later(scene, ageMs, () => restore(index, snapshot));
}

const anyMaster = ({ random, masters }: Scene): number => random.int(0, masters.length - 1);

/** Happens later, unless peace has come. */
export const later = (scene: Scene, ms: number, happen: () => void): void =>
  scene.timeline.after(ms, () => {
    if (!scene.quiet) happen();
  });

function loseTail({ log, judge }: Scene, partition: number, count: number): Published[] {
  const lost = log.truncate(partition, count);
  judge.lost(lost);
  return lost;
}

export const faults = {
  killProjector(scene: Scene) {
    const { random, projectors } = scene;
    if (projectors.length === 0) return;
    const killed = random.pick(projectors);
    if (killed.leads && random.chance(0.2)) scene.goesOn(takeOverMs + 500);
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
    const stopped = random.pick(projectors);
    stopped.stop();
    startAgain(scene);
  },
  startProjector(scene: Scene) {
    if (scene.projectors.filter(({ alive }) => alive).length < 3) scene.startProjector();
  },
  freezeProjector(scene: Scene) {
    const { random, projectors, timeline } = scene;
    if (projectors.length === 0) return;
    const { process, leads } = random.pick(projectors);
    process.freeze();
    const isLong = random.chance(leads ? 0.4 : 0.1);
    const pauseMs = isLong ? random.int(takeOverMs - 700, takeOverMs + 2_000) : random.int(100, 2_000);
    // A leader that goes on after another one has taken over is to be read after, too.
    if (isLong) scene.goesOn(pauseMs + 500);
    timeline.after(pauseMs, () => process.resume(pickOne(scene)));
  },
  freezeApi(scene: Scene) {
    const { random, apis, timeline } = scene;
    const { process } = random.pick(apis);
    process.freeze();
    const pauseMs = random.int(100, random.pick([1_000, 3_000, 6_000]));
    if (pauseMs < 3_000) scene.goesOn(pauseMs + 300);
    timeline.after(pauseMs, () => process.resume(pickOne(scene)));
  },
  restartApi(scene: Scene) {
    scene.restartApi(scene.random.int(0, scene.apis.length - 1));
  },
  restoreStore(scene: Scene) {
    aged(scene, (index, snapshot) => comeBack(scene, index, snapshot));
  },
  restoreStoreAndProjectors(scene: Scene) {
    aged(scene, (index, snapshot) => {
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
    scene.redisOf(tag).command(['DEL', scene.around.keys.fence(tag)]);
  },
  /** Another program writes where a key of ours belongs. Somebody asks for a compare of the tag, until it is mended. */
  writeOtherType(scene: Scene) {
    const { random, masters, around, timeline } = scene;
    const { keys } = around;
    const { redis } = random.pick(masters);
    const ours = [...redis.keys.keys()].filter((key) => /:reader:|:(fence|position|open|led|complete:)$/.test(key));
    if (ours.length === 0) return;
    const key = random.pick(ours);
    const open = keys.open(Number(/\{v(\d+)\}/.exec(key)![1]));
    redis.command(['DEL', key]);
    redis.command(['RPUSH', key, 'x']);
    const ask = (): void => {
      if (redis.keys.get(key) !== 'list') return;
      if (key !== open && redis.keys.get(open) !== 'list') redis.command(['ZADD', open, '+inf', 'compare']);
      timeline.after(1_000, ask);
    };
    ask();
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
    const { random, log, timeline } = scene;
    if (log.losable.length === 0) return;
    const lost = loseTail(scene, random.pick(log.losable), random.int(1, 4));
    for (let i = random.int(0, 8); i > 0; i--) later(scene, random.int(0, 300), () => scene.publish());
    if (random.chance(0.5)) return;
    // It grows again by other records of the same keys: soon, or before anybody has looked.
    const afterMs = random.pick([0, 50]);
    for (const each of lost) {
      if (!each.bad) timeline.after(random.int(0, afterMs), () => scene.publish(scene.changes.anew(each)));
    }
  },
  /** Views are written ahead of the position, and the log loses what they show. */
  killLeaderAndTail(scene: Scene) {
    const { random, log, changes } = scene;
    const published = Array.from({ length: random.int(1, 3) }, () => scene.publish(changes.any()));
    later(scene, random.int(5, 300), () => {
      for (const { leads, process } of scene.projectors) {
        if (!leads) continue;
        process.kill();
        startAgain(scene);
      }
      loseTail(scene, log.indexOf(random.pick(published)), random.int(1, 3));
    });
  },
  /** The log stands still. A leader whose views are lost takes them again, waits for the log, and may lose them once more. */
  freezeLog(scene: Scene) {
    const { random, log, timeline } = scene;
    const pauseMs = random.int(300, random.pick([1_500, 4_000]));
    log.freeze();
    for (let i = random.int(0, 3); i > 0; i--) later(scene, random.int(0, pauseMs), () => faults.emptyStore(scene));
    timeline.after(pauseMs, () => log.resume());
  },
  compactLog({ random, log }: Scene) {
    // Some partitions, or all.
    for (const index of random.chance(0.3) ? log.partitions.keys() : [random.int(0, log.partitions.length - 1)]) {
      log.compact(index, random.int(0, 3));
    }
  },
  publishBad(scene: Scene) {
    const { random, weather, timeline, changes } = scene;
    weather.unacknowledged = random.pick([0, 0.5, 0.9]);
    timeline.after(random.int(500, 3_000), () => {
      weather.unacknowledged = 0;
    });
    for (let i = random.int(1, 4); i > 0; i--) {
      later(scene, random.int(0, 1_000), () => scene.publish(changes.bad()));
    }
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
  scene.weather.unacknowledged = 0;
  for (const { process } of [...scene.projectors, ...scene.apis]) process.resume(pickOne(scene));
  for (const master of scene.masters) master.resume();
  scene.log.resume();
  startMissing(scene);
}

/** A world without a projector gets one: the last one was killed, or was told to stop, and has. */
export function startMissing(scene: Scene): void {
  scene.projectors = scene.projectors.filter(({ alive }) => alive);
  if (scene.projectors.length === 0) scene.startProjector();
}
