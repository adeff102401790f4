import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { BackgroundCheck } from '../../../projector/checking/background-check.ts';
import { Repairs } from '../../../projector/checking/repairs.ts';
import { Folding } from '../../../projector/intake/folding.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWrite } from '../../../projector/ports/view-writer.ts';
import { positionOf } from '../../../projector/position/position.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { logOf } from '../../support/stores/placed-log.ts';
import { viewsOf } from '../../support/stores/rendered-views.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const everyMs = 1_000;

/** A leader's views of a small world, which the test may damage, and checks of some tags. `listMs`: how long it takes to list one. */
async function checking(tags: readonly number[], listMs = 0) {
  const store = new MemoryViewStore();
  const eventLog = logOf(smallWorld.records);
  const { clock, lines, stop, ...shared } = sharedDeps();
  const faulty: string[] = [];
  let passes = 0;
  const metrics = { ...noMetrics, faulty: (kind: string) => void faulty.push(kind), checkedAll: () => void passes++ };
  const deps = { ...shared, clock, metrics, eventLog, rejects: null };
  const bounds = await eventLog.bounds();
  const folding = new Folding(bounds, null, deps);
  void folding.follow(stop.signal);
  await folding.foldTo(positionOf(bounds, 'end'), stop.signal);
  const { facts } = folding.fold;
  const writer = store.writer();
  for (const write of viewsOf(facts)) await writer.commit(tagOf(write.id), [write]);
  const lanes = new TagLanes({ ...deps, writer, tags: allTags, onWritten() {}, onCompare() {} });
  lanes.settled = { start: { round: 1, position: folding.position, sum: '' }, text: '' };
  const list: typeof writer.list = async function* (...of) {
    await clock.sleep(listMs);
    yield* writer.list(...of);
  };
  const repairs = new Repairs({ ...deps, facts, writer, lanes });
  const checked = { folding, fanOuts: { stored: () => [] }, tags, lanes, repairs, everyMs };
  const check = new BackgroundCheck({ ...deps, ...checked, writer: { ...writer, list } });
  const run = async (checks: number) => {
    const end = clock.sleep.bind(clock);
    let left = checks;
    clock.sleep = async (ms) => {
      if (ms >= everyMs && left-- === 0) stop.abort();
      await end(ms);
    };
    clock.slept.length = 0;
    lines.length = 0;
    await check.run(stop.signal);
    return { faulty, said: lines, passes, slept: clock.slept.filter((ms) => ms >= everyMs) };
  };
  return { store, writer, repairs, run };
}

it('a background check takes at most a twentieth of the time', async () => {
  const { run } = await checking(allTags, 100);
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
  await writer.commit(other, [{ kind: 'ride', id: 'odd', value }]);
  const { faulty, said, passes } = await run(3);
  expect(faulty.toSorted()).toEqual([...Array(7).fill('ride'), 'rider']);
  expect(said.toSorted()).toEqual([
    expect.stringMatching(/7 differences .*: extra ride a, extra ride b, .*extra ride e, 2 more$/),
    expect.stringMatching(/1 difference from .*: extra ride odd$/),
  ]);
  expect(await dumpViews(store)).toEqual(before);
  expect(passes).toBe(1);
});

it('leaves out a tag that is repaired, and has passed when all are checked', async () => {
  const { repairs, run } = await checking([3, 4]);
  repairs.compare(4, false);
  expect(await run(4)).toMatchObject({ faulty: [], passes: 0 });
  const { run: runAll } = await checking([3, 4]);
  expect(await runAll(4)).toMatchObject({ faulty: [], passes: 2 });
});
