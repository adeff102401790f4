import { expect, it } from 'vitest';
import { redisKeys } from '../../infra/redis/redis-keys.ts';
import { sampleRecords } from '../support/worlds/records.ts';
import type { Master } from './network.ts';
import { ApiProcess, olderFormat, ProjectorProcess } from './processes.ts';
import { settle } from './run-seed.ts';
import { Scene, type SceneOptions } from './scene.ts';
import type { SimulatedLog } from './simulated-log.ts';
import { days, developerKey, rides, tags } from './world.ts';

// What once went wrong, or is most likely to, step by step. Random worlds are in simulator.test.ts.

/** A world with a leader whose views stand. */
async function led(options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene(1, options);
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
  expect(scene.said.join('\n')).toContain('taking the lead again');
});

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

it('a leader that is deposed with changes in hand counts none of them as unreadable once it stands by', async () => {
  const scene = await led();
  const [first] = scene.projectors as [ProjectorProcess];
  const standby = scene.startProjector();
  await settle(scene);
  scene.publish(scene.changes.ride(rides[0]!));
  const age = () => first.projector.status().unreadableSinceMs;
  while (age() === null) await scene.timeline.step();
  first.process.freeze();
  await scene.goOn(4_000);
  first.process.resume((channels) => channels[0]!);
  await settle(scene);
  expect([first.leads, standby.leads]).toEqual([false, true]);
  expect(age()).toBeNull();
});

it('a store that takes no writes, or only now and then, deposes no leader, and is waited for by all until it takes them', async () => {
  const scene = await led();
  const [first] = scene.projectors as [ProjectorProcess];
  const standby = scene.startProjector();
  await settle(scene);
  const [{ redis }] = scene.masters as [Master];
  redis.refuses = 'OOM';
  scene.publish();
  await scene.goOn(20_000);
  for (const { projector } of [first, standby]) {
    const { waits, troubles } = projector.status();
    expect(scene.timeline.nowMs - waits.get('redis')!).toBeGreaterThan(19_000);
    expect(troubles).toEqual([expect.stringContaining('is full (OOM)')]);
  }
  for (let i = 0; i < 60; i++) {
    redis.refuses = scene.random.chance(0.3) ? null : 'OOM';
    await scene.goOn(300);
  }
  redis.refuses = null;
  await settle(scene);
  expect([first.leads, standby.leads]).toEqual([true, false]);
  expect(scene.said.join('\n')).not.toContain('taken over');
});

it('a projector that begins again leads no sooner than it has folded as far as the views stand', async () => {
  const scene = await led();
  scene.projectors[0]!.process.kill();
  const again = scene.startProjector();
  scene.log.hold(again.process, 'rides');
  await scene.goOn(4_000);
  expect(again.leads).toBe(false);
  scene.log.release();
  await settle(scene);
  expect(again.leads).toBe(true);
});

it('a standby is ready once it is folded, not before, and stays so while the leader’s position moves on', async () => {
  const scene = await led();
  const standby = scene.startProjector();
  scene.log.hold(standby.process, 'rides');
  await scene.goOn(3_000);
  expect(standby.projector.ready).toBe(false);
  scene.log.release();
  const readies: boolean[] = [];
  for (let change = 0; change < 300; change++) {
    scene.publish();
    await scene.goOn(20);
    readies.push(standby.projector.ready);
    expect(standby.leads).toBe(false);
  }
  // From some moment on.
  expect(readies.indexOf(true)).toBeLessThan(150);
  expect(readies.slice(readies.indexOf(true))).not.toContain(false);
});

it('a standby beside the leader of another log says what it waits for, once, and leads when that is told to stop', async () => {
  const scene = await led();
  const moved = (...args: Parameters<SimulatedLog['adapter']>) => ({
    ...scene.log.adapter(...args),
    identity: async () => 'moved',
  });
  const standby = new ProjectorProcess({ ...scene.around, log: { adapter: moved } }, 'projector of another log');
  await scene.goOn(3_000);
  expect([standby.leads, standby.projector.ready]).toEqual([false, false]);
  expect(standby.projector.status().troubles).toEqual([expect.stringContaining('are of another log')]);
  scene.projectors[0]!.stop();
  await scene.goOn(5_000);
  expect([standby.leads, standby.projector.ready]).toEqual([true, true]);
  expect(standby.projector.status().troubles).toEqual([]);
  expect(scene.said.filter((line) => line.includes('are of another log'))).toHaveLength(1);
});

it('an old version that is started after a week beside newer views answers nothing before it is led', async () => {
  const scene = await led();
  const old = { ...scene.around, keys: redisKeys('', olderFormat) };
  // A week ago it was complete, and led; this very process of Redis is stamped.
  const then = new ProjectorProcess(old, 'projector of then');
  await scene.goOn(4_000);
  then.process.kill();
  scene.timeline.skip(7 * 86_400_000);
  for (const ride of rides) scene.publish(scene.changes.ride(ride));
  await settle(scene);
  const api = new ApiProcess(old, 'api of then');
  const statuses: number[] = [];
  const asking = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      api.ask(`/rides/${rides[0]}`, { 'x-api-key': developerKey }, ({ status }) => statuses.push(status));
      await scene.goOn(500);
    }
  };
  await asking();
  expect(new Set(statuses)).toEqual(new Set([503]));
  const again = new ProjectorProcess(old, 'projector of then, again');
  await asking();
  expect(again.leads).toBe(true);
  expect(statuses.at(-1)).toBe(200);
});

it('a leader that loses a tag before it took on what was left still fills all tags of an empty store', async () => {
  const scene = new Scene(1);
  const [{ redis }] = scene.masters as [Master];
  const { keys } = scene.around;
  scene.startProjector();
  while (!tags.every((tag) => redis.keys.has(keys.fence(tag)))) await scene.timeline.step();
  redis.command(['DEL', keys.fence(0)]);
  await settle(scene);
  expect(scene.said.join('\n')).toContain('taking the lead again');
});

it('a leader whose views are lost twice while the log stands still leads on, and a standby stays one', async () => {
  const scene = await led();
  const [first] = scene.projectors;
  const standby = scene.startProjector();
  await settle(scene);
  scene.log.freeze();
  for (let loss = 0; loss < 2; loss++) {
    scene.masters[0]!.redis.empty();
    await scene.goOn(1_000);
  }
  scene.log.resume();
  await settle(scene);
  expect([first!.leads, standby.leads]).toEqual([true, false]);
});

// P37
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
  expect(scene.said.join('\n')).toContain('the log holds the facts that the views were stored with');
  expect(scene.said.join('\n')).toContain('to compare: 0 tags');
});

it('a leader does not wait for records that the log lost after it had asked for the ends', async () => {
  const scene = new Scene(1);
  const [{ redis }] = scene.masters as [Master];
  const { keys } = scene.around;
  scene.publish(scene.changes.ride(rides[0]!));
  const { process } = scene.startProjector();
  scene.log.hold(process, 'rides');
  while (!tags.every((tag) => redis.keys.has(keys.fence(tag)))) await scene.timeline.step();
  await scene.goOn(200);
  const grown = scene.log.partitions.findIndex(({ topic, end, kept }) => topic === 'rides' && end > kept);
  scene.judge.lost(scene.log.truncate(grown, 1));
  scene.log.release();
  await settle(scene);
  expect(scene.projectors).toHaveLength(1);
});

it('a bad record that takes the place of records which the log lost is set aside by the next leader', async () => {
  const scene = await led();
  const [first] = scene.projectors;
  const [ride] = rides as [string];
  for (let i = 0; i < 4; i++) scene.publish(scene.changes.ride(ride));
  await settle(scene);
  first!.process.kill();
  // The log grows beyond the leader's position again.
  const index = scene.log.partitions.findIndex(({ topic, end, kept }) => topic === 'rides' && end > kept);
  scene.judge.lost(scene.log.truncate(index, 4));
  for (let i = 0; i < 4; i++)
    scene.publish({ ...scene.changes.ride(ride), value: { ...sampleRecords.rides, ride: 'other' }, bad: true });
  scene.startProjector();
  await settle(scene);
  expect(scene.around.rejects.places.size).toBe(4);
});

it('a leader whose bad record held its position back before another led stores no position of that time', async () => {
  const scene = await led();
  const [first] = scene.projectors as [ProjectorProcess];
  const second = scene.startProjector();
  await settle(scene);
  scene.weather.unacknowledged = 1;
  scene.publish(scene.changes.bad());
  await scene.goOn(500);
  first.process.freeze();
  scene.weather.unacknowledged = 0;
  for (const ride of rides) for (const day of days) scene.publish(scene.changes.night(ride, day));
  await scene.goOn(6_000);
  expect(second.leads).toBe(true);
  scene.weather.unacknowledged = 1;
  first.process.resume(([channel]) => channel!);
  await scene.goOn(2_000);
  second.stop();
  await scene.goOn(2_000);
  expect(first.leads).toBe(true);
  first.process.kill();
  for (const [i, { topic }] of scene.log.partitions.entries()) {
    if (topic === 'nights') scene.judge.lost(scene.log.truncate(i, 4));
  }
  scene.weather.unacknowledged = 0;
  scene.startProjector();
  await settle(scene);
});

it('a store that is restored again, while its clock has gone back, does not pass for what a later term of its leader left', async () => {
  const scene = await led();
  const [master] = scene.masters;
  const fenceOf = (tag: number): string => scene.redisOf(tag).keys.get(scene.around.keys.fence(tag))!.toString();
  const sequenceOf = (tag: number): string => fenceOf(tag).split(':')[1]!;
  const restore = async (snapshot: Master['redis']['snapshot']): Promise<void> => {
    master!.stop();
    await scene.goOn(50);
    master!.start(snapshot, scene.newProcess(null));
  };
  scene.projectors[0]!.process.kill();
  scene.storeSkewMs -= 3_600_000;
  const before = master!.redis.snapshot;
  scene.startProjector();
  await settle(scene);
  await scene.goOn(8_000);
  const { snapshot } = master!.redis;
  const sequences = tags.map(sequenceOf);
  await restore(before);
  await settle(scene);
  for (const ride of rides) scene.publish(scene.changes.ride(ride));
  // As many batches after it was taken as there were then.
  while (!tags.some((tag, i) => sequenceOf(tag) === sequences[i])) await scene.goOn(20);
  await restore(snapshot);
  await settle(scene);
  expect(scene.said.filter((line) => line.includes('taking the lead again'))).toHaveLength(2);
});
