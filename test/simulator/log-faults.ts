import type { Published } from './log-partition.ts';
import { startAgain } from './process-faults.ts';
import { questionWithRevokedKey } from './readers.ts';
import type { Scene } from './scene.ts';

function loseTail({ log, judge }: Scene, partition: number, count: number): Published[] {
  const lost = log.truncate(partition, count);
  judge.lost(lost);
  return lost;
}

/** What happens to the log, and to where bad records go. */
export const logFaults = {
  truncateLog(scene: Scene) {
    const { random, log, timeline } = scene;
    if (log.losable.length === 0) scene.publish();
    const lost = loseTail(scene, random.pick(log.losable), random.int(1, 4));
    scene.struck('truncateLog');
    for (let i = random.int(0, 8); i > 0; i--) scene.later(random.int(0, 300), () => scene.publish());
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
    scene.later(random.int(5, 300), () => {
      for (const { leads, process } of scene.projectors) {
        if (!leads) continue;
        process.kill();
        startAgain(scene);
      }
      loseTail(scene, log.indexOf(random.pick(published)), random.int(1, 3));
      scene.struck('killLeaderAndTail');
    });
  },
  /** The log stands still. A leader whose views are lost takes them again, waits for the log, and may lose them once more. */
  freezeLog(scene: Scene) {
    const { random, log, masters } = scene;
    const pauseMs = random.int(300, random.pick([1_500, 4_000]));
    log.freeze();
    for (let i = random.int(0, 3); i > 0; i--)
      scene.later(random.int(0, pauseMs), () => random.pick(masters).redis.empty());
    scene.lasts('freezeLog', pauseMs, () => log.resume());
  },
  /** The log does not say where it begins and ends, though it is read on. Its views may be lost meanwhile. */
  hideBounds(scene: Scene) {
    const { random, log, masters } = scene;
    const pauseMs = random.int(300, random.pick([1_500, 4_000]));
    log.hangs = true;
    if (random.chance(0.7)) scene.later(random.int(0, pauseMs), () => random.pick(masters).redis.empty());
    scene.lasts('hideBounds', pauseMs, () => {
      log.hangs = false;
    });
  },
  /** A producer's transaction is open for a while, and then committed or aborted. Others publish to the same partition. */
  openTransaction(scene: Scene) {
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
    scene.lasts('openTransaction', pauseMs, () => log.endTransaction(index, random.chance(0.6)));
  },
  /** A topic is deleted and made again, and what was in it is published again. */
  makeTopicAnew(scene: Scene) {
    const { random, log, judge } = scene;
    const topic = random.pick(['rides', 'nights', 'attendance', 'relations', 'riders'] as const);
    const before = [...log.latest().values()].filter((each) => each.topic === topic && each.value);
    judge.lost(log.makeAnew(topic));
    scene.struck('makeTopicAnew');
    // A token of a rider who is gone is refused.
    const withinMs = topic === 'riders' ? 0 : random.pick([0, 300]);
    for (const { key, value } of before) {
      if (withinMs === 0) log.publish({ topic, key, value });
      else scene.timeline.after(random.int(0, withinMs), () => log.publish({ topic, key, value }));
    }
    if (topic === 'riders') log.keep([topic]);
  },
  /** Developer keys are revoked, and published again. */
  revokeKeys(scene: Scene) {
    const { random, changes } = scene;
    for (let i = random.int(2, 5); i > 0; i--) scene.later(random.int(0, 1_000), () => scene.publish(changes.key()));
    for (let i = 0; i < 12; i++) scene.later(random.int(0, 1_200), () => scene.read(questionWithRevokedKey));
    scene.struck('revokeKeys', 1_000);
  },
  compactLog(scene: Scene) {
    const { random, log } = scene;
    // Some partitions, or all.
    for (const index of random.chance(0.3) ? log.partitions.keys() : [random.int(0, log.partitions.length - 1)]) {
      log.compact(index, random.int(0, 3));
    }
    scene.struck('compactLog');
  },
  /** The topic of rejected records loses some of them, or all. */
  loseRejects(scene: Scene) {
    const { random, around, changes } = scene;
    if (random.chance(0.5)) scene.publish(changes.bad());
    const count = random.pick([1, 2, Number.POSITIVE_INFINITY]);
    scene.later(random.int(0, 300), () => around.rejects.lose(count, scene.timeline.nowMs));
    scene.struck('loseRejects');
  },
  publishBad(scene: Scene) {
    const { random, weather, changes } = scene;
    weather.unacknowledged = random.pick([0, 0.5, 0.9]);
    const lastsMs = random.int(500, 3_000);
    for (let i = random.int(1, 4); i > 0; i--) {
      scene.later(random.int(0, 1_000), () => scene.publish(changes.bad()));
    }
    scene.lasts('publishBad', lastsMs, () => {
      weather.unacknowledged = 0;
    });
  },
};
