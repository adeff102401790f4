import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { BackgroundCheck } from '../../../projector/checking/background-check.ts';
import type { Folding } from '../../../projector/intake/folding.ts';
import type { Position } from '../../../projector/ports/event-log.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import { topicNames } from '../../../schemas/events/records.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const everyMs = 1_000;
const position = (rides: number) =>
  ({ ...Object.fromEntries(topicNames.map((topic) => [topic, [0]])), rides: [rides] }) as Position;

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
    /** Of which tags the processes were asked for, and how patiently views were added. */
    asked: new Set<string>(),
    async processesSeen(of: readonly number[]) {
      lanes.asked.add(of.join());
      return lanes.processes.shift() ?? 1;
    },
    async add(tag: number, write: ViewWrite, options: unknown) {
      lanes.asked.add(JSON.stringify(options));
      await writer.commit(tag, [write]);
    },
    written: async (of: readonly number[]) => void done.push(['written', ...of]),
  };
  const world = {
    ...{ store, writer, clock, done, lanes },
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
        clock: { nowMs: () => clock.nowMs(), sleep },
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
  expect(await run(7)).toEqual([
    ...[
      ['list', 4],
      ['list', 5],
      ['list', 3],
      ['checked all', began + 3 * everyMs],
    ],
    ...[
      ['list', 4],
      ['list', 5],
      ['list', 3],
      ['checked all', began + 6 * everyMs],
    ],
    ['list', 4],
  ]);
});

it('takes at most a twentieth of the time', async () => {
  const world = await checking(allTags);
  world.onList = () => void world.clock.sleep(100);
  await world.run(3);
  expect(world.clock.slept.filter((ms) => ms !== 100)).toEqual([1_000, 2_000, 2_000, 2_000]);
});

it('leaves tags alone that are compared anyway, and does not count them as checked', async () => {
  const world = await checking([3, 4]);
  world.wanted.add(3);
  expect(await world.run(5)).toEqual([
    ['list', 4],
    ['list', 4],
  ]);
});

it('counts, names and mends what differs, but names no rider, and not all where there are many', async () => {
  const tag = tagOf('loop');
  const world = await checking([tag]);
  const before = await dumpViews(world.store);
  const odd = ['a', 'b', 'c', 'd', 'e'].map((id): ViewWrite => ({ kind: 'ride', id, value: Buffer.from('x') }));
  const card: ViewWrite = { kind: 'rider', id: 'secret', value: Buffer.from('x') };
  await world.writer.commit(tag, [{ kind: 'ride', id: 'loop', value: null }, card, ...odd]);
  const done = await world.run(2);
  expect(done.filter(([what]) => what === 'faulty').map(([, kind]) => kind)).toEqual([
    ...['rider', 'ride', 'ride', 'ride', 'ride', 'ride', 'ride'],
  ]);
  const said = done.filter(([what]) => what === 'error').map(([, text]) => `${text}`);
  expect(said).toHaveLength(1);
  expect(said[0]).toMatch(/7 differences .*: extra ride a, extra ride b, .*extra ride e, 2 more$/);
  expect(done).toContainEqual(['written', tag]);
  expect(await dumpViews(world.store)).toEqual(before);
});

it('names all where there are few', async () => {
  const tag = tagOf('loop');
  const world = await checking([tag]);
  const [stored] = await world.writer.read([{ tag, kind: 'ride', id: 'loop' }]);
  const value = Buffer.from((stored as { bytes: Buffer }).bytes);
  // Its digest is right.
  value[value.length - 1]! ^= 1;
  await world.writer.commit(tag, [{ kind: 'ride', id: 'loop', value }]);
  const done = await world.run(1);
  expect(done).toContainEqual(['error', expect.stringMatching(/1 difference .*: different ride loop$/)]);
  expect(world.lanes.asked).toEqual(new Set([`${tag}`, '{"patience":true}']));
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
    const done = await world.run(1);
    if (meanwhile === 'nothing') expect(done.map(([what]) => what)).toContain('error');
    else expect(done.filter(([what]) => what !== 'list' && what !== 'checked all')).toEqual([]);
    // A store that came back is checked like any other; one in doubt is not.
    expect(done.some(([what]) => what === 'checked all')).toBe(meanwhile !== 'in doubt');
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
  const tag = tagOf('loop');
  const world = await checking([tag]);
  let failures = 2;
  world.onList = () => {
    if (failures-- > 0) throw new Error('no connection');
  };
  const done = await world.run(1);
  expect(done.map(([what]) => what)).toEqual(['list', 'warn', 'list', 'list', 'info', 'checked all']);
});
