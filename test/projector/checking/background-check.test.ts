import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { BackgroundCheck } from '../../../projector/checking/background-check.ts';
import type { Folding } from '../../../projector/intake/folding.ts';
import type { Position } from '../../../projector/ports/event-log.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import type { Clock } from '../../../projector/running/clock.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { gone, marks, metro, night, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { namesInTags } from '../../support/stores/names-in-tags.ts';
import { logOf, placed, positionAt } from '../../support/stores/placed-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const everyMs = 1_000;
const position = (rides: number) => positionAt({ rides });

/** A leader's views, which the test may damage, and so many checks of some tags. */
async function checking(tags: readonly number[]) {
  const fold = foldOf(smallWorld.records);
  const store = new MemoryViewStore();
  const writer = store.writer();
  for (const write of viewsOf(fold.facts)) await writer.commit(tagOf(write.id), [write]);
  const stop = new AbortController();
  const clock = new SteppingClock();
  const done: unknown[][] = [];
  const say =
    (what: string) =>
    (...of: unknown[]) =>
      void done.push([what, ...of]);
  const lanes = {
    signal: stop.signal,
    settled: { start: { position: position(5) } } as { start: { position: Position } } | null,
    processes: [] as number[],
    processesSeen: async () => lanes.processes.shift() ?? 1,
    async add(tag: number, write: ViewWrite, options: unknown) {
      expect(options).toEqual({ patience: true });
      await writer.commit(tag, [write]);
    },
    written: async (of: readonly number[]) => void done.push(['written', ...of]),
  };
  const world = {
    ...{ store, writer, clock, lanes },
    wanted: new Set<number>(),
    /** Happens as a tag is listed. */
    onList: (_tag: number): void => {},
    list: ((of, whole) => {
      done.push(['list', ...of]);
      world.onList(of[0]!);
      return writer.list(of, whole);
    }) as ViewWriter['list'],
    async run(checks: number): Promise<unknown[][]> {
      let left = checks;
      const sleep = async (ms: number) => {
        if (ms >= everyMs && left-- === 0) stop.abort();
        await clock.sleep(ms);
      };
      const metrics = { ...noMetrics, faulty: say('faulty'), checkedAll: say('checked all') };
      const deps = {
        ...{ tags, lanes, metrics, everyMs, repairs: { wanted: world.wanted }, fanOuts: { stored: () => [] } },
        folding: { fold, position: position(5) } as unknown as Folding,
        writer: { ...writer, list: (of, whole) => world.list(of, whole) } satisfies ViewWriter,
        clock: { nowMs: () => clock.nowMs(), wallMs: () => clock.wallMs(), sleep },
        log: { info: say('info'), warn: say('warn'), error: say('error') },
        signal: stop.signal,
      };
      const check = new BackgroundCheck(deps as unknown as ConstructorParameters<typeof BackgroundCheck>[0]);
      await check.run(stop.signal);
      return done.splice(0);
    },
  };
  return world;
}

it('a background check looks at tag after tag, from another one each time, and tells when all were checked', async () => {
  const { clock, run } = await checking([3, 4, 5]);
  // The clock begins at 1,000 times its pause, and 1,000 is one more than a multiple of three.
  const began = clock.nowMs();
  const pass = [4, 5, 3].map((tag) => ['list', tag]);
  expect(await run(7)).toEqual([
    ...[...pass, ['checked all', began + 3 * everyMs]],
    ...[...pass, ['checked all', began + 6 * everyMs]],
    ['list', 4],
  ]);
});

it('takes at most a twentieth of the time', async () => {
  const world = await checking(allTags);
  world.onList = () => void world.clock.sleep(100);
  await world.run(3);
  expect(world.clock.slept.filter((ms) => ms !== 100)).toEqual([1_000, 2_000, 2_000, 2_000]);
});

it('counts, names and mends what differs, but names no rider, and not all where there are many', async () => {
  const tag = tagOf('loop');
  const world = await checking([tag]);
  const before = await dumpViews(world.store);
  const odd = ['a', 'b', 'c', 'd', 'e'].map((id): ViewWrite => ({ kind: 'ride', id, value: Buffer.from('x') }));
  const card: ViewWrite = { kind: 'rider', id: 'secret', value: Buffer.from('x') };
  await world.writer.commit(tag, [{ kind: 'ride', id: 'loop', value: null }, card, ...odd]);
  const done = await world.run(2);
  const kinds = done.filter(([what]) => what === 'faulty').map(([, kind]) => kind);
  expect(kinds).toEqual(['rider', 'ride', 'ride', 'ride', 'ride', 'ride', 'ride']);
  const said = done.filter(([what]) => what === 'error').map(([, text]) => text);
  expect(said).toEqual([
    expect.stringMatching(/7 differences .*: extra ride a, extra ride b, .*extra ride e, 2 more$/),
  ]);
  expect(done).toContainEqual(['written', tag]);
  expect(await dumpViews(world.store)).toEqual(before);
});

it('says nothing of views of which another process of the store answers, or whose tag has come to be in doubt', async () => {
  const tag = tagOf('loop');
  for (const meanwhile of ['another process', 'in doubt', 'nothing']) {
    const world = await checking([tag]);
    const { writer, lanes } = world;
    await writer.commit(tag, [{ kind: 'ride', id: 'loop', value: null }]);
    world.onList = () => {
      if (meanwhile === 'another process') lanes.processes.push(2);
      if (meanwhile === 'in doubt') world.wanted.add(tag);
    };
    const done = await world.run(2);
    const said = done.filter(([what]) => what === 'error').map(([, text]) => text);
    const found = [expect.stringMatching(/1 difference .*: missing ride loop$/)];
    expect(said).toEqual(meanwhile === 'nothing' ? found : []);
    // A tag whose store came back counts as checked. One in doubt is left to its repair.
    const passes = done.filter(([what]) => what === 'checked all').length;
    expect([passes, done.filter(([what]) => what === 'list').length]).toEqual(
      meanwhile === 'in doubt' ? [0, 1] : [2, 2],
    );
  }
});

it('waits until what was folded before is written', async () => {
  const tag = tagOf('loop');
  const world = await checking([tag]);
  await world.writer.commit(tag, [{ kind: 'ride', id: 'loop', value: null }]);
  const positions = [null, position(4), position(5)];
  const { lanes, clock } = world;
  lanes.settled = null;
  const sleep = clock.sleep.bind(clock);
  clock.sleep = async (ms: number) => {
    const next = ms === 100 ? positions.shift() : null;
    if (next) lanes.settled = { start: { position: next } };
    await sleep(ms);
  };
  expect((await world.run(1)).map(([what]) => what)).toContain('error');
  expect(clock.slept.filter((ms) => ms === 100)).toHaveLength(3);
});

it('tries again where the store does not answer', async () => {
  const world = await checking([tagOf('loop')]);
  let failures = 2;
  world.onList = () => {
    if (failures-- > 0) throw new Error('no connection');
  };
  const done = await world.run(1);
  expect(done.map(([what]) => what)).toEqual(['list', 'warn', 'list', 'list', 'info', 'checked all']);
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
    ...{ tags, checkEveryMs: 500, clock, log: { ...silentLog, error: say } },
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
  const key = store.keys.of(tagOf(rides[0]!), 'ride', rides[0]!);
  await expect.poll(() => running.projector.status().unreadableSinceMs).toBeNull();
  const right = store.redis.keys.get(key) as Buffer;
  const wrong = Buffer.from(right);
  // Its digest is right.
  wrong[wrong.length - 1]! ^= 1;
  store.redis.keys.set(key, wrong);
  await expect.poll(() => `${store.redis.keys.get(key)}`).toBe(`${right}`);
  expect([faulty, said]).toEqual([['ride'], [expect.stringContaining(`different ride ${rides[0]}`)]]);
  await running.stop();
});
