import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { BackgroundCheck } from '../../../projector/checking/background-check.ts';
import { Repairs } from '../../../projector/checking/repairs.ts';
import { Folding } from '../../../projector/intake/folding.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWrite } from '../../../projector/ports/view-writer.ts';
import { positionOf } from '../../../projector/position/position.ts';
import type { Clock } from '../../../projector/running/clock.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { gone, marks, metro, night, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { namesInTags } from '../../support/stores/names-in-tags.ts';
import { logOf, placed } from '../../support/stores/placed-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { viewsOf } from '../../support/stores/rendered-views.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const everyMs = 1_000;
const soon = { timeout: 60_000, interval: 20 };

/** A leader's views of a small world, which the test may damage, and checks of some tags. `listMs`: how long it takes to list one. */
async function checking(tags: readonly number[], listMs = 0) {
  const [store, clock, stop] = [new MemoryViewStore(), new SteppingClock(), new AbortController()];
  const eventLog = logOf(smallWorld.records);
  const [faulty, said]: [string[], string[]] = [[], []];
  const log = { ...silentLog, error: (line: string) => void said.push(line) };
  const metrics = { ...noMetrics, faulty: (kind: string) => void faulty.push(kind) };
  const deps = { clock, log, metrics, signal: stop.signal, eventLog, rejects: null };
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
  const fanOuts = { stored: () => [] };
  const check = new BackgroundCheck({
    ...deps,
    folding,
    fanOuts,
    tags,
    lanes,
    repairs,
    everyMs,
    writer: { ...writer, list },
  });
  const run = async (checks: number) => {
    const end = clock.sleep.bind(clock);
    let left = checks;
    clock.sleep = async (ms) => {
      if (ms >= everyMs && left-- === 0) stop.abort();
      await end(ms);
    };
    clock.slept.length = 0;
    await check.run(stop.signal);
    return { faulty, said, slept: clock.slept.filter((ms) => ms >= everyMs) };
  };
  return { store, writer, run };
}

it('a background check takes at most a twentieth of the time', async () => {
  const { run } = await checking(allTags, 100);
  expect((await run(3)).slept).toEqual([1_000, 2_000, 2_000, 2_000]);
});

it('counts, names and mends what differs, but names no rider, and not all where there are many', async () => {
  const tag = tagOf('loop');
  const { store, writer, run } = await checking([tag]);
  const before = await dumpViews(store);
  const value = Buffer.from('x');
  const odd = ['a', 'b', 'c', 'd', 'e'].map((id): ViewWrite => ({ kind: 'ride', id, value }));
  await writer.commit(tag, [{ kind: 'ride', id: 'loop', value: null }, { kind: 'rider', id: 'secret', value }, ...odd]);
  const { faulty, said } = await run(2);
  expect(faulty).toEqual(['rider', 'ride', 'ride', 'ride', 'ride', 'ride', 'ride']);
  expect(said).toEqual([
    expect.stringMatching(/7 differences .*: extra ride a, extra ride b, .*extra ride e, 2 more$/),
  ]);
  expect(await dumpViews(store)).toEqual(before);
});

// P47
it('finds nothing in views that are right while changes and fan-outs flow, and mends what somebody else changed', async () => {
  const tags = [0, 16, 32, 48];
  const named = namesInTags(tags);
  const withDay = (name: string): string[] => [name, `${name}/2015-06-13`];
  // Enough watchers for fan-outs in slices.
  const [star, ...riders] = named('r', 70) as [string, ...string[]];
  const rides = named('ride', 8, withDay);
  const [town] = named('metro', 1, withDay) as [string];
  const published: LoggedRecord[] = [metro(town)];
  for (const id of rides) published.push(ride(id, { metro: town }), night(id, '2015-06-13'));
  for (const id of [star, ...riders]) published.push(rider(id), says(id, 'GOING', rides[0]!, '2015-06-13'));
  for (const id of riders) published.push(marks(id, star, 'follows'));
  const log = logOf(published);
  const store = new SharedStore();
  const [faulty, said]: [string[], string[]] = [[], []];
  const passes: number[] = [];
  const say = (message: string) => void said.push(message);
  // Without the pauses that keep checks at a twentieth of the time.
  const clock: Clock = { ...fastClock, sleep: (ms, signal) => fastClock.sleep(Math.min(ms, 500), signal) };
  const running = startProjector(log, store.writer(), null, {
    tags,
    checkEveryMs: 500,
    clock,
    log: { ...silentLog, error: say },
    metrics: { ...noMetrics, faulty: (kind) => void faulty.push(kind), checkedAll: (ms) => void passes.push(ms) },
  });
  await running.ready();
  for (let turn = 0; passes.length < 3; turn++) {
    const one = riders[turn % riders.length]!;
    const changes = [
      says(star, turn % 2 ? 'GOING' : 'NONE', rides[turn % rides.length]!, '2015-06-13'),
      says(one, turn % 3 ? 'GOING' : 'NONE', rides[(turn * 3) % rides.length]!, '2015-06-13'),
      turn % 5 === 0 ? gone('riders', one) : rider(one, { handle: `${one}${turn}` }),
      ride(rides[turn % rides.length]!, { metro: town, title: `Ride ${turn}`, posted: turn % 7 > 0 }),
    ];
    published.push(...changes);
    log.append(...placed(published).slice(-changes.length));
    await sleep(1);
  }
  expect([faulty, said]).toEqual([[], []]);
  // The last change may have hidden it.
  published.push(ride(rides[0]!, { metro: town, title: 'Last' }));
  log.append(...placed(published).slice(-1));
  const key = store.keys.of(tagOf(rides[0]!), 'ride', rides[0]!);
  await expect.poll(() => `${store.redis.keys.get(key)}`, soon).toContain('"title":"Last"');
  await expect.poll(() => running.projector.status().unreadableSinceMs, soon).toBeNull();
  const right = store.redis.keys.get(key) as Buffer;
  const wrong = Buffer.from(right);
  // Its digest is right.
  wrong[wrong.length - 1]! ^= 1;
  store.redis.keys.set(key, wrong);
  await expect.poll(() => `${store.redis.keys.get(key)}`, soon).toBe(`${right}`);
  expect([faulty, said]).toEqual([['ride'], [expect.stringContaining(`different ride ${rides[0]}`)]]);
  await running.stop();
});
