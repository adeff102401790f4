import { expect, it } from 'vitest';
import { Comparison } from '../../../projector/checking/comparison.ts';
import { type Covered, Judge } from '../../../projector/checking/judge.ts';
import { WindowMarks } from '../../../projector/checking/window-marks.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import type { StoredName, StoredView } from '../../../projector/ports/view-writer.ts';
import type { StoredFanOut } from '../../../projector/position/settled-position.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { gone, on, ride, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { applyTo, foldOf, storedView } from '../../support/stores/rendered-views.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

const loop: StoredName = { tag: tagOf('loop'), kind: 'ride', id: 'loop' };
const ada: StoredName = { tag: tagOf('ada'), kind: 'reader', id: 'ada' };
const titled = (title: string) => ride('loop', { title, leaders: ['ada'] });
const bo = (response: 'GOING' | 'NONE') => says('bo', response, 'loop', '2015-06-13');
const ofBo: StoredFanOut = ['bo', [on('2015-06-01'), on('2015-06-13')]];

/** What happens as a window begins, and after its view was read. `fanOuts`: those under way; null: nobody leads there. */
interface Window {
  begins?: readonly (LoggedRecord | 'written')[];
  meanwhile?: readonly LoggedRecord[];
  fanOuts?: readonly StoredFanOut[] | null;
}

/** Judges a view. First these records are folded; 'written': the store has what the facts render by then. */
async function judged(
  name: StoredName,
  first: Window['begins'] & {},
  windows: Window[],
  spoil = (_: StoredView) => {},
) {
  const fold = foldOf(smallWorld.records);
  const marks = new WindowMarks(fold.facts);
  let stored: StoredView | null = null;
  fold.subscribe(marks.listener);
  const happen = (steps: Window['begins'] = []): void => {
    for (const step of steps) {
      if (step !== 'written') applyTo(fold, step);
      else stored = storedView(new Comparison(fold.facts).absent(name)!.write);
    }
  };
  happen(first);
  if (stored) spoil(stored);
  let window: Window = {};
  const found: string[] = [];
  const judge = new Judge({
    facts: fold.facts,
    marks,
    store: { read: async (names) => names.map(() => stored) },
    async begin() {
      window = windows.shift()!;
      marks.begin();
      happen(window.begins);
      return new Map(window.fanOuts === null ? [] : [[name.tag, window.fanOuts ?? []]]);
    },
    end: async () => happen(window.meanwhile),
    onDifferences: (differences) => found.push(...differences.map(({ what, field = '' }) => `${what} ${field}`.trim())),
  });
  judge.suspect(name);
  const { unknown, changing } = await judge.run(null);
  expect(windows).toEqual([]);
  return { found, unknown: unknown.length, changing };
}

const nothing = { found: [], unknown: 0, changing: 0 };
const again: Window = { begins: ['written'] };

// P46
it('a view is wrong if no change of the window touches it, and else looked at again, five times at most', async () => {
  const [a, b] = ['A', 'B'].map(titled) as [LoggedRecord, LoggedRecord];
  expect(await judged(loop, ['written', b], [{ fanOuts: [ofBo] }])).toEqual({ ...nothing, found: ['different'] });
  // Who wrote what is read had folded the change there, and not yet the one back.
  expect(await judged(loop, [b, 'written', a], [{ begins: [b], meanwhile: [a] }, again])).toEqual(nothing);
  // Changes before the window may never be written.
  expect(await judged(loop, ['written', b], [{ fanOuts: null }])).toEqual({ ...nothing, unknown: 1 });
  const changes = [0, 1, 2, 3, 4].map((i): Window => ({ begins: ['written', titled(`${i}`)] }));
  expect(await judged(loop, [], changes)).toEqual({ ...nothing, changing: 1 });
});

// P46
it('a field of a reader is looked at again while a fan-out of its day, of a rider they see or just unfollowed, is under way', async () => {
  const gone13: Window['begins'] = ['written', bo('NONE')];
  expect(await judged(ada, gone13, [{ fanOuts: [ofBo] }, again])).toEqual(nothing);
  const unfollowed: Window = { begins: [gone('relations', 'ada/bo')], fanOuts: [ofBo] };
  expect(await judged(ada, gone13, [unfollowed, again])).toEqual(nothing);
  const wrong = { ...nothing, found: ['different f2015-06-13'] };
  expect(await judged(ada, gone13, [unfollowed, { fanOuts: [ofBo] }])).toEqual(wrong);
  const others = ['bo', 'ada'].map((who, i): StoredFanOut => [who, [on(`2015-06-${14 - i}`)]]);
  expect(await judged(ada, gone13, [{ fanOuts: others }])).toEqual(wrong);
  // Nobody here knows this rider: what differs can't be of them.
  const unknownRider: Window = { begins: [gone('relations', 'ada/bo')], fanOuts: [['stranger', ofBo[1]]] };
  expect(await judged(ada, gone13, [unknownRider])).toEqual(wrong);
  // A change touches another field: that one alone is looked at again.
  const own: Window['begins'] = ['written', says('ada', 'NONE', 'loop', '2015-06-13')];
  const other: Window = { begins: [says('ada', 'GOING', 'loop', '2015-06-20')] };
  expect(await judged(ada, own, [other, again])).toEqual({ ...nothing, found: ['different o2015-06-08'] });
  // Each is told once, and the others of the same rider after it.
  const odd = ['o2024-09-23', 'junk'];
  const spoil = (stored: StoredView) =>
    odd.forEach((field) => void ('fields' in stored && stored.fields!.set(field, Buffer.of(7))));
  const { found } = await judged(ada, gone13, [{ fanOuts: [ofBo] }, { fanOuts: [ofBo] }, {}], spoil);
  expect(found).toEqual([...odd.map((field) => `extra ${field}`), 'different f2015-06-13']);
});

/** A judge of a store that has whatever view it is asked for beside no facts, and what is asked of store and log, in order. */
function judging() {
  const { facts } = new Fold();
  const asked: unknown[][] = [];
  const found: string[] = [];
  const covered: Covered[] = [];
  const judge = new Judge({
    facts,
    marks: new WindowMarks(facts),
    store: {
      async read(names) {
        asked.push(['read', names.length]);
        return names.map((name) => ({ ...name, bytes: Buffer.from('x'), whole: true }) as StoredView);
      },
    },
    async begin(tags) {
      asked.push(['begin', ...tags]);
      return covered.shift()!;
    },
    end: async () => void asked.push(['end']),
    onDifferences: (differences) => found.push(...differences.map(({ what, name: { id } }) => `${what} ${id}`)),
  });
  return { asked, found, covered, judge };
}
const strange = (id: string, tag: number): StoredName => ({ tag, kind: 'ride', id });
const read = (names: number) => [['read', names], ['end']];

it('a judge begins no window where one has begun, and knows nothing of tags that nobody leads', async () => {
  // Another version has written a kind that this one does not know.
  const [led, unled] = [{ ...strange('led', 3), kind: 'junk' as never }, strange('unled', 4)];
  const window = new Map([[3, []]]);
  const one = judging();
  for (const name of [led, unled]) one.judge.suspect(name);
  one.covered.push(window, window, window, window);
  expect(await one.judge.run(window)).toEqual({ unknown: [unled], changing: 0 });
  expect(one.found).toEqual(['extra led']);
  expect(one.asked).toEqual([...read(2), ...Array.from({ length: 4 }, () => [['begin', 4], ...read(1)]).flat()]);
  const none = judging();
  for (const name of [led, unled]) none.judge.suspect(name);
  expect(await none.judge.run(new Map())).toEqual({ unknown: [led, unled], changing: 0 });
  expect([none.asked, none.found]).toEqual([read(2), []]);
});

it('a judge is certain of what no projector writes, also where nobody leads: what is in no tag, and a key of another type', async () => {
  const { asked, found, judge, covered } = judging();
  judge.suspect({ tag: -1, kind: 'foreign', id: 'junk' });
  covered.push(new Map());
  expect(await judge.run(null)).toEqual({ unknown: [], changing: 0 });
  expect([asked[0], found]).toEqual([['begin'], ['extra junk']]);
  const retype = (stored: StoredView) => void Object.assign(stored, { bytes: null });
  expect((await judged(loop, ['written'], [{ fanOuts: null }], retype)).found).toEqual(['wrong type']);
});
