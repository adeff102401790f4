import { redisKeys } from '../../infra/redis/redis-keys.ts';
import type { Published } from './log-partition.ts';
import { fairWeather } from './network.ts';
import { olderFormat, type ProjectorProcess, type Surroundings, thisFormat } from './processes.ts';
import { questionWithRevokedKey } from './readers.ts';
import type { Fault, Scene } from './scene.ts';
import { storeFaults } from './store-faults.ts';

// How long a projector must not have moved its fence until another one leads, and a little more.
const takeOverMs = 3_200;

const projectorsMax = 4;

function startAgain(scene: Scene): void {
  const { random } = scene;
  // Some never come back. The others mostly soon, so that a short world has it.
  const afterMs = random.int(0, random.pick([1_000, 1_000, 4_000]));
  if (random.chance(0.7)) scene.later(afterMs, () => void scene.startProjector());
}

/** One that runs. If none does, it has just been started. */
function anyProjector(scene: Scene): ProjectorProcess {
  const alive = scene.projectors.filter((each) => each.alive);
  return alive.length > 0 ? scene.random.pick(alive) : scene.startProjector();
}

/** What happens to processes and their clocks. */
const processFaults = {
  killProjectors(scene, struck) {
    const { random } = scene;
    const killed = random.chance(0.3) ? scene.projectors : [anyProjector(scene)];
    if (killed.length === 1 && killed[0]!.leads && random.chance(0.2)) scene.goesOn(takeOverMs + 500);
    for (const { process } of killed) process.kill();
    startAgain(scene);
    struck();
  },
  stopProjector(scene, struck) {
    anyProjector(scene).stop();
    startAgain(scene);
    struck();
  },
  startProjector(scene, struck) {
    if (scene.projectors.filter(({ alive }) => alive).length >= projectorsMax) return;
    scene.startProjector();
    struck();
  },
  freezeProjector(scene, struck) {
    const { random } = scene;
    const { process, leads } = anyProjector(scene);
    process.freeze();
    const isLong = random.chance(leads ? 0.4 : 0.1);
    const pauseMs = isLong ? random.int(takeOverMs - 700, takeOverMs + 2_000) : random.int(100, 2_000);
    // A leader that goes on after another one has taken over is to be read after, too.
    if (isLong) scene.goesOn(pauseMs + 500);
    struck(pauseMs, () => process.resume(scene.pickOne));
  },
  freezeApi(scene, struck) {
    const { random, apis } = scene;
    const { process } = random.pick(apis);
    process.freeze();
    const pauseMs = random.int(100, random.pick([1_000, 3_000, 6_000]));
    if (pauseMs < 3_000) scene.goesOn(pauseMs + 300);
    struck(pauseMs, () => process.resume(scene.pickOne));
  },
  restartApi(scene, struck) {
    scene.restartApi(scene.random.int(0, scene.apis.length - 1));
    struck();
  },
  /** A projector that reaches the store late: each of its looks takes longer than a beat. */
  slowProjector(scene, struck) {
    const { random, weather } = scene;
    const { name } = anyProjector(scene).process;
    weather.late.set(name, random.int(500, 2_200));
    struck(random.int(1_000, 4_000), () => weather.late.delete(name));
  },
  /** Somebody starts a projector with another prefix, of an older build or on another log, and stops it once they notice. */
  startMistaken(scene, struck) {
    const { random, log } = scene;
    const adapter: Surroundings['log']['adapter'] = (...args) => ({
      ...log.adapter(...args),
      identity: async () => 'another log',
    });
    const [name, mistaken] = random.pick([
      ['prefix', { keys: redisKeys('other:', thisFormat) }],
      ['build', { keys: redisKeys('', olderFormat) }],
      ['log', { log: { adapter } }],
    ] as const);
    const stray = scene.startStray({ ...scene, ...mistaken }, `other ${name}`);
    struck(random.int(500, 5_000), () => stray.stop());
  },
  jumpClocks(scene, struck) {
    const { random } = scene;
    scene.storeSkewMs += random.int(-7_200_000, 3_600_000);
    scene.calendarSkewMs += random.int(-30_000, 90_000_000);
    struck();
  },
} satisfies Record<string, Fault>;

function loseTail({ log, judge }: Scene, partition: number, count: number): Published[] {
  const lost = log.truncate(partition, count);
  judge.lost(lost);
  return lost;
}

/** What happens to the log, and to where bad records go. */
const logFaults = {
  truncateLog(scene, struck) {
    const { random, log, timeline } = scene;
    if (log.losable.length === 0) scene.publish();
    const lost = loseTail(scene, random.pick(log.losable), random.int(1, 4));
    struck();
    for (let i = random.int(0, 8); i > 0; i--) scene.later(random.int(0, 300), () => scene.publish());
    if (random.chance(0.5)) return;
    // It grows again by other records of the same keys: soon, or before anybody has looked.
    const afterMs = random.pick([0, 50]);
    for (const each of lost) {
      if (!each.bad) timeline.after(random.int(0, afterMs), () => scene.publish(scene.changes.anew(each)));
    }
  },
  /** Views are written ahead of the position, and the log loses what they show. */
  killLeaderAndTail(scene, struck) {
    const { random, log, changes } = scene;
    const published = Array.from({ length: random.int(1, 3) }, () => scene.publish(changes.any()));
    scene.later(random.int(5, 300), () => {
      for (const { leads, process } of scene.projectors) {
        if (!leads) continue;
        process.kill();
        startAgain(scene);
      }
      loseTail(scene, log.indexOf(random.pick(published)), random.int(1, 3));
      struck();
    });
  },
  /** The log stands still, or only does not say where it ends. A leader whose views are lost takes them again, and waits for it. */
  freezeLog(scene, struck) {
    const { random, log, masters } = scene;
    const pauseMs = random.int(300, random.pick([1_500, 4_000]));
    if (random.chance(0.4)) log.hangs = true;
    else log.freeze();
    for (let i = random.int(0, 3); i > 0; i--)
      scene.later(random.int(0, pauseMs), () => random.pick(masters).redis.empty());
    struck(pauseMs, () => log.resume());
  },
  /** A producer's transaction is open for a while, and then committed or aborted. Others publish to the same partition. */
  openTransaction(scene, struck) {
    const { random, log, changes } = scene;
    const change = changes.any();
    const index = log.indexOf(change);
    if (!log.begin(index)) return;
    log.publish(change, true);
    const pauseMs = random.int(50, random.pick([500, 2_000, 4_000]));
    for (let i = random.int(0, 3); i > 0; i--) {
      const isIn = random.chance(0.5);
      scene.later(random.int(0, pauseMs), () => log.publish(changes.anew(change), isIn));
    }
    struck(pauseMs, () => log.endTransaction(index, random.chance(0.6)));
  },
  /** A topic is deleted and made again, and what was in it is published again. */
  makeTopicAnew(scene, struck) {
    const { random, log, judge } = scene;
    const topic = random.pick(['rides', 'nights', 'attendance', 'relations', 'riders'] as const);
    const before = [...log.latest().values()].filter((each) => each.topic === topic && each.value);
    judge.lost(log.makeAnew(topic));
    struck();
    // A token of a rider who is gone is refused.
    const withinMs = topic === 'riders' ? 0 : random.pick([0, 300]);
    for (const { key, value } of before) {
      if (withinMs === 0) log.publish({ topic, key, value });
      else scene.timeline.after(random.int(0, withinMs), () => log.publish({ topic, key, value }));
    }
    if (topic === 'riders') log.keep([topic]);
  },
  /** Developer keys are revoked, and published again. */
  revokeKeys(scene, struck) {
    const { random, changes } = scene;
    for (let i = random.int(2, 5); i > 0; i--) scene.later(random.int(0, 1_000), () => scene.publish(changes.key()));
    for (let i = 0; i < 12; i++) scene.later(random.int(0, 1_200), () => scene.read(questionWithRevokedKey));
    struck(1_000);
  },
  compactLog({ random, log }, struck) {
    // Some partitions, or all.
    for (const index of random.chance(0.3) ? log.partitions.keys() : [random.int(0, log.partitions.length - 1)])
      log.compact(index, random.int(0, 3));
    struck();
  },
  /** The topic of rejected records loses some of them, or all. */
  loseRejects(scene, struck) {
    const { random, rejects, changes } = scene;
    if (random.chance(0.5)) scene.publish(changes.bad());
    const count = random.pick([1, 2, Number.POSITIVE_INFINITY]);
    scene.later(random.int(0, 300), () => rejects.lose(count, scene.timeline.nowMs));
    struck();
  },
  publishBad(scene, struck) {
    const { random, weather, changes } = scene;
    weather.unacknowledged = random.pick([0, 0.5, 0.9]);
    for (let i = random.int(1, 4); i > 0; i--) scene.later(random.int(0, 1_000), () => scene.publish(changes.bad()));
    struck(random.int(500, 3_000), () => {
      weather.unacknowledged = 0;
    });
  },
} satisfies Record<string, Fault>;

/** What goes wrong. Each fault mends itself after a while, or is mended in the end. It says when it strikes. */
const faults = { ...processFaults, ...storeFaults, ...logFaults };
export type FaultName = keyof typeof faults;
export const faultNames = Object.keys(faults) as FaultName[];

export const strike = (scene: Scene, name: FaultName): void =>
  faults[name](scene, (lastsMs, mend) => scene.struck(name, lastsMs, mend));

/** All is well from now on, but for what is still on its way. */
export function heal(scene: Scene): void {
  scene.goesOn(Math.max(0, ...scene.weather.late.values()));
  Object.assign(scene.weather, fairWeather());
  for (const { process } of [...scene.projectors, ...scene.apis, ...scene.strays]) process.resume(scene.pickOne);
  for (const master of scene.masters) {
    master.redis.refuses = null;
    master.resume();
  }
  for (const stray of scene.strays) stray.stop();
  for (const index of scene.log.partitions.keys()) scene.log.endTransaction(index, scene.random.chance(0.6));
  scene.log.resume();
  startMissing(scene);
}

/** A world without a projector gets one: the last one was killed, or was told to stop, and has. */
export function startMissing(scene: Scene): void {
  scene.projectors = scene.projectors.filter(({ alive }) => alive);
  if (scene.projectors.length === 0) scene.startProjector();
}

/** A pair's name. A fault may strike twice. */
const pairOf = (one: string, other: string): string => [one, other].sort().join(' + ');
export const allPairs: readonly (readonly [FaultName, FaultName])[] = faultNames.flatMap((one, i) =>
  faultNames.slice(i).map((other) => [one, other] as const),
);

/** How often two faults overlapped, or came within a second of one another. */
export function metPairs({ faults: struck }: Scene): Record<string, number> {
  const met: Record<string, number> = {};
  for (const [i, one] of struck.entries()) {
    for (const other of struck.slice(i + 1)) {
      const apartMs = Math.max(one.fromMs, other.fromMs) - Math.min(one.toMs, other.toMs);
      const pair = pairOf(one.name, other.name);
      if (apartMs <= 1_000) met[pair] = (met[pair] ?? 0) + 1;
    }
  }
  return met;
}

/** Pairs of faults that met less than five times. */
export const rarePairs = (met: Readonly<Record<string, number>>): string[] =>
  allPairs.map(([one, other]) => pairOf(one, other)).filter((pair) => (met[pair] ?? 0) < 5);
