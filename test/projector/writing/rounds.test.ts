import { expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import { openNames, type ViewWrite } from '../../../projector/ports/view-writer.ts';
import { PositionBarriers, parseStoredPosition } from '../../../projector/position/settled-position.ts';
import { PendingWrites } from '../../../projector/writing/pending-writes.ts';
import { Rounds } from '../../../projector/writing/rounds.ts';
import type { TagLane } from '../../../projector/writing/tag-lane.ts';
import type { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { ride, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { turnsDuring } from '../../support/stores/event-loop-turns.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { applyTo, markedNames, rendered } from '../../support/stores/rendered-views.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

/** A small world that is marked, and rounds over lanes that keep what is added. `tickMs`: what passes between two looks. */
function marked({ tickMs = 0, records = smallWorld.records } = {}, fanOut = {}) {
  const fold = new Fold();
  const barriers = new PositionBarriers(positionAt());
  const pending = new PendingWrites({ fold, barriers, subscribe: () => () => {} }, { take() {} }, fanOut);
  pending.mark();
  const apply = (record: LoggedRecord) => applyTo(fold, record);
  records.forEach(apply);
  const clock = new SteppingClock();
  clock.nowMs = () => (clock.ms += tickMs);
  const added: [tag: number, write: ViewWrite][] = [];
  const lanes = {
    clock,
    settled: null as TagLanes['settled'],
    round: 0,
    /** A tag that does not answer, and whether one did not while the round was sent. */
    away: -1,
    answers: true,
    /** How many writes were added before others were sent. */
    flushedAt: [] as number[],
    lane: (tag: number) => ({ away: tag === lanes.away }) as TagLane,
    async add(tag: number, write: ViewWrite) {
      added.push([tag, write]);
    },
    flush: () => void lanes.flushedAt.push(added.length),
    drain: async () => lanes.answers,
  };
  const { facts } = fold;
  const rounds = new Rounds({ facts, pending, lanes, barriers, ...told });
  const run = (rides = 0) => rounds.run(positionAt({ rides }));
  return { facts, pending, barriers, lanes, added, apply, written: () => rounds.written, idle: () => rounds.idle, run };
}

const begin = positionAt({ rides: 1 });
const told = { identity: 'the log', begin, rejects: { ofUnknownSchemas: 3 } };
const namesOf = (added: readonly [number, ViewWrite][]): string[] => openNames(added.map(([, write]) => write));

// P13
it('a round writes what is marked once, as the facts render it, a rider’s days in one write, and sends all others before', async () => {
  const { facts, pending, lanes, added, apply, idle, run } = marked();
  for (const title of ['B', 'C']) apply(ride('cafe', { title }));
  const names = markedNames(facts, pending.marks);
  expect(idle()).toBe(false);
  expect(await run()).toBe(true);
  expect(idle()).toBe(true);
  expect(namesOf(added).toSorted()).toEqual(names.toSorted());
  expect(new Set(names).size).toBe(names.length);
  const views = rendered(facts);
  expect(names).toEqual(expect.arrayContaining([...views.keys()]));
  const values = added.flatMap(([, write]): unknown[] =>
    write.kind === 'reader' ? write.fields.map(({ value }) => value) : [write.value],
  );
  expect(values.map((value) => value && `${value}`)).toEqual(namesOf(added).map((name) => views.get(name) ?? null));
  expect(added.map(([tag]) => tag)).toEqual(added.map(([, { id }]) => tagOf(id)));
  const readers = added.map(([, { kind }]) => kind === 'reader');
  expect(lanes.flushedAt).toEqual([readers.indexOf(true)]);
  expect(readers.slice(readers.indexOf(true))).not.toContain(false);
  const ids = added.flatMap(([, { kind, id }]) => (kind === 'reader' ? [id] : []));
  expect(new Set(ids).size).toBe(ids.length);
});

it('views of a tag that does not answer stay marked, and the round with them gives no position to store', async () => {
  const all = marked();
  await all.run();
  expect(all.written()).toEqual(positionAt());
  const names = namesOf(all.added);
  for (const id of ['loop', 'ada']) {
    const away = tagOf(id);
    const left = names.filter((name) => tagOf(name.replace(/^[a-z]+:/, '').replace(/^(\w+)\/[fox].*/, '$1')) === away);
    expect(left.length).toBeGreaterThan(0);
    const { facts, pending, lanes, added, idle, run } = marked();
    lanes.away = away;
    expect([await run(), lanes.settled]).toEqual([false, null]);
    expect(markedNames(facts, pending.marks).toSorted()).toEqual(left.toSorted());
    expect(namesOf(added.splice(0)).toSorted()).toEqual(names.filter((name) => !left.includes(name)).toSorted());
    lanes.away = -1;
    expect([await run(), lanes.settled === null, idle()]).toEqual([true, false, true]);
    expect(namesOf(added).toSorted()).toEqual(left.toSorted());
  }
});

it('others have their turn after ten milliseconds of rendering, and not before', async () => {
  for (const tickMs of [0, 11]) {
    const { added, run } = marked({ tickMs });
    expect(await turnsDuring(run)).toBe(tickMs === 0 ? 0 : added.length);
  }
});

// docs/rules.md#position, P14
it('rounds tell watchers slice by slice, after all else, and store beside the position whose turn is still to come', async () => {
  // Relations first, so that there is somebody to tell.
  const records = smallWorld.records.toReversed();
  const { facts, pending, barriers, lanes, added, apply, idle, run } = marked({ records }, { inlineMax: 0, slice: 1 });
  const left: number[] = [];
  for (let round = 0; round < 12; round++) {
    expect(await run()).toBe(true);
    if (round === 0) {
      const values = namesOf(added).filter((name) => !name.startsWith('reader:'));
      const all = [...rendered(facts).keys()].filter((name) => !name.startsWith('reader:'));
      expect(values).toEqual(expect.arrayContaining(all));
    }
    const { fanOuts, readable } = parseStoredPosition(lanes.settled!.text)!;
    expect(fanOuts).toEqual(pending.fanOuts.stored());
    expect(readable).toBe(fanOuts.length > 0 ? null : undefined);
    left.push(fanOuts.length);
  }
  expect([left[0]! > 0, left.at(-1), idle()]).toEqual([true, 0, true]);
  expect(namesOf(added)).toEqual(expect.arrayContaining([...rendered(facts).keys()]));
  const start = barriers.begin(positionAt(), '');
  expect(barriers.settled(start, { fanOutsStored: false })).toBe(start);
  // docs/rules.md#readable: a rider's change is, once all watchers are told.
  added.length = 0;
  apply(says('bo', 'NONE', 'loop', '2015-06-13'));
  await run(4);
  expect(parseStoredPosition(lanes.settled!.text)).toMatchObject({ readable: { rides: [0] } });
  await run(5);
  expect(namesOf(added)).toContain('reader:ada/f2015-06-13');
});

// docs/rules.md#position
it('the position is the start of the round, and stays where a tag did not answer, or a barrier is older than the term', async () => {
  const { lanes, pending, facts, run } = marked();
  lanes.answers = false;
  // The tag may answer before the next round.
  expect([await run(1), lanes.settled]).toEqual([false, null]);
  lanes.answers = true;
  expect(await run(2)).toBe(true);
  const { sum } = facts;
  const position = positionAt({ rides: 2 });
  const more = { log: 'the log', begin, ofUnknownSchemas: 3 };
  expect(JSON.parse(lanes.settled!.text)).toEqual({ position, sum: sum.text, fanOuts: [], ...more });
  // More fan-outs than are stored beside it hold it back.
  for (let i = 0; i <= 1_001; i++) pending.fanOuts.add(facts.riderIds.add(`fan ${i}`), 1);
  await run(3);
  expect(parseStoredPosition(lanes.settled!.text)).toMatchObject({ position: { rides: [2] }, fanOuts: [] });
  // Names from that round on stay in the open lists: their views may be ahead of it.
  expect([lanes.round, lanes.settled!.start.round]).toEqual([3, 2]);
  await run(4);
  expect(parseStoredPosition(lanes.settled!.text)!.fanOuts).toHaveLength(1_000);
  const next = marked();
  const reject = next.barriers.open();
  for (const rides of [1, 2]) expect([await next.run(rides), next.lanes.settled]).toEqual([true, null]);
  next.barriers.lift(reject);
  await next.run(3);
  expect(next.lanes.settled).toMatchObject({ start: { position: { rides: [3] }, round: 3 } });
});
