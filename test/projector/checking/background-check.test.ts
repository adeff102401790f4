import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { BackgroundCheck } from '../../../projector/checking/background-check.ts';
import { Repairs } from '../../../projector/checking/repairs.ts';
import { Folding } from '../../../projector/intake/folding.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { CommitResult, ViewWrite } from '../../../projector/ports/view-writer.ts';
import { positionOf } from '../../../projector/position/position.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { logOf, positionAt } from '../../support/stores/placed-log.ts';
import { viewsOf } from '../../support/stores/rendered-views.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const [everyMs, positionEveryMs] = [1_000, 100];

/** A leader's views of a small world, which the test may damage, and checks of some tags. `onList`: happens as one is listed. */
async function checking(tags: readonly number[], onList = async () => {}) {
  const store = new MemoryViewStore();
  const eventLog = logOf(smallWorld.records);
  const { clock, lines, stop, ...shared } = sharedDeps();
  const faulty: string[] = [];
  const listed: number[] = [];
  let passes = 0;
  const metrics = {
    ...noMetrics,
    faulty: (kind: string) => void faulty.push(kind),
    checkedAll(wallMs: number) {
      if (wallMs === clock.wallMs()) passes++;
    },
  };
  const deps = { ...shared, clock, metrics, eventLog, rejects: null };
  const bounds = await eventLog.bounds();
  const folding = new Folding(bounds, null, deps);
  void folding.follow(stop.signal);
  await folding.foldTo(positionOf(bounds, 'end'), stop.signal);
  const { facts } = folding.fold;
  const answers = { process: 'one' };
  const memory = store.writer();
  const commit: typeof memory.commit = async (...batch) =>
    ({ ...(await memory.commit(...batch)), ...answers }) as CommitResult;
  const writer = { ...memory, commit };
  for (const write of viewsOf(facts)) await writer.commit(tagOf(write.id), [write]);
  const lanes = new TagLanes({ ...deps, writer, tags: allTags, onWritten() {}, onCompare() {} });
  // What is folded is written after a while.
  const positions = [positionAt(), folding.position];
  const list: typeof writer.list = async function* (...of) {
    listed.push(...of[0]);
    await onList();
    yield* writer.list(...of);
  };
  const repairs = new Repairs({ ...deps, facts, writer, lanes, status: { repairing() {} } });
  const checked = { folding, fanOuts: { stored: () => [] }, tags, lanes, repairs, everyMs };
  const check = new BackgroundCheck({ ...deps, ...checked, writer: { ...writer, list } });
  const run = async (checks: number) => {
    const end = clock.sleep.bind(clock);
    let left = checks;
    clock.sleep = async (ms) => {
      if (ms >= everyMs && left-- === 0) stop.abort();
      const position = ms === positionEveryMs && positions.shift();
      if (position) lanes.settled = { start: { round: 1, position, sum: '' }, text: '' };
      await end(ms);
    };
    clock.slept.length = 0;
    clock.wallAheadMs = 7 * everyMs - clock.ms;
    lines.length = 0;
    await check.run(stop.signal);
    const waits = clock.slept.filter((ms) => ms === positionEveryMs).length;
    return { faulty, said: lines, passes, listed, waits, slept: clock.slept.filter((ms) => ms >= everyMs) };
  };
  return { store, writer, clock, stop, positions, answers, repairs, run };
}

it('a background check takes at most a twentieth of the time', async () => {
  const { clock, run } = await checking(allTags, () => clock.sleep(100));
  expect(await run(3)).toMatchObject({ slept: [1_000, 2_000, 2_000, 2_000], passes: 0 });
});

// P47
it('counts, names and mends what differs, tag after tag, but names no rider, and not all where there are many', async () => {
  const [tag, other, third] = ['loop', 'cafe', 'ada'].map(tagOf) as [number, number, number];
  const { store, writer, run } = await checking([third, tag, other]);
  const before = await dumpViews(store);
  const value = Buffer.from('x');
  const odd = ['a', 'b', 'c', 'd', 'e'].map((id): ViewWrite => ({ kind: 'ride', id, value }));
  await writer.commit(tag, [{ kind: 'ride', id: 'loop', value: null }, { kind: 'rider', id: 'secret', value }, ...odd]);
  const [cafe] = await writer.read([{ tag: other, kind: 'ride', id: 'cafe' }]);
  // Its digest is right.
  const wrong = Buffer.concat([(cafe as { bytes: Buffer }).bytes, value]);
  await writer.commit(other, [{ kind: 'ride', id: 'cafe', value: wrong }]);
  const { faulty, said, passes, waits } = await run(3);
  expect(faulty.toSorted()).toEqual([...Array(7).fill('ride'), 'rider']);
  expect(said.toSorted()).toEqual([
    expect.stringMatching(/7 differences .*: extra ride a, extra ride b, .*extra ride e, 2 more$/),
    expect.stringMatching(/1 difference from .*: different ride cafe$/),
  ]);
  expect(await dumpViews(store)).toEqual(before);
  expect([passes, waits]).toEqual([1, 2]);
});

it('leaves out a tag that is repaired, and has passed when all are checked', async () => {
  const { repairs, run } = await checking([3, 4]);
  repairs.compare(4, false);
  expect(await run(4)).toMatchObject({ faulty: [], passes: 0, listed: [3, 3] });
  const { run: runAll } = await checking([3, 4, 5, 6]);
  expect(await runAll(8)).toMatchObject({ faulty: [], passes: 2, listed: [6, 3, 4, 5, 6, 3, 4, 5] });
});

it('says nothing of views of which another process of the store answers, whose tag is in doubt by then, or once it is to stop', async () => {
  const tag = tagOf('loop');
  const found = async (meanwhile: (world: Awaited<ReturnType<typeof checking>>) => unknown) => {
    const world = await checking([tag], async () => void meanwhile(world));
    await world.writer.commit(tag, [{ kind: 'ride', id: 'loop', value: null }]);
    const { said, passes } = await world.run(1);
    return [said, passes];
  };
  expect(await found(({ answers }) => Object.assign(answers, { process: 'another' }))).toEqual([[], 1]);
  expect(await found(({ repairs }) => repairs.compare(tag, false))).toEqual([[], 0]);
  const stops = ({ positions, clock, stop }: Parameters<Parameters<typeof found>[0]>[0]) => {
    positions.length = 0;
    void clock.sleep(0).then(() => stop.abort());
  };
  expect(await found(stops)).toEqual([[], 0]);
});
