import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { compareStored } from '../../../projector/checking/comparison.ts';
import type { StoredView, ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import { readerKey } from '../../../schemas/views/reader-fields.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { dayKey, metroKey, nightKey, parseKey } from '../../../schemas/views/view-kinds.ts';
import { encodeView } from '../../../schemas/views/view-values.ts';
import { projecting } from '../../support/processes/service.ts';
import { turnsDuring } from '../../support/stores/event-loop-turns.ts';
import { projected } from '../../support/stores/projector-run.ts';
import { foldOf, viewsOf } from '../../support/stores/rendered-views.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { fieldsWrite, valueWrite } from '../../support/stores/view-names.ts';
import { toLogRecord, worldArb } from '../../support/worlds/histories.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';
import * as universe from '../../support/worlds/universe.ts';

const numRuns = Number(process.env.RUNS ?? 40);

const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((array) => Buffer.from(array));
const someBytes = fc.oneof(
  bytes,
  bytes.map((odd) => encodeView({ odd }, odd)),
);
/** Views that are hardly ever there, and keys that are none; after a space, a field of a rider's hash. */
const extras = [
  ...[metroKey('atlantis'), dayKey('portland', '2026-6-1'), nightKey(universe.rides[0]!, '2024-01-01'), '7|junk:1'],
  ...[`${readerKey(universe.riders[0]!)} o2024-01-01`, `${readerKey('stranger')} f2024-01-01`],
];
/** What somebody else writes: by the number of a view that is there, or under another name. Null removes it. */
const corruption = fc.record({
  name: fc.oneof(fc.nat(), fc.constantFrom(...extras)),
  value: fc.oneof(fc.constant(null), someBytes),
});
const scenario = fc.record({
  history: worldArb(),
  corruptions: fc.array(corruption, { minLength: 1, maxLength: 40 }),
  /** The part of the history that is written before, and how often a round is written after that. */
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  every: fc.integer({ min: 1, max: 9 }),
});

// P20, P30
it('a compare mends any views that are gone, altered or extra, while changes are folded and written', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ history, corruptions, at, every }) => {
      const store = new MemoryViewStore();
      const writer = store.writer();
      const projector = await projecting(writer);
      const take = (record: (typeof history.records)[number]) => {
        const { topic, partition, offset } = record;
        return projector.take({ topic, partition, records: [toLogRecord(record)], nextOffset: offset + 1 });
      };
      const cut = Math.floor(at * history.records.length);
      for (const record of history.records.slice(0, cut)) await take(record);
      await projector.settle();
      const names = [...(await dumpViews(store)).keys()];
      for (const { name, value } of corruptions) {
        const [key, field] = (typeof name === 'string' ? name : names[name % names.length])?.split(' ') ?? [];
        if (key === undefined) continue;
        const text = value?.toString('latin1') ?? null;
        const write = field === undefined ? valueWrite(key, value) : fieldsWrite(key, { [field]: text });
        await writer.commit(parseKey(key).tag, [write]);
      }
      const slowly: ViewWriter['list'] = async function* (tags) {
        for await (const stored of writer.list(tags)) {
          yield stored;
          await new Promise((resolve) => setImmediate(resolve));
        }
      };
      const comparing = compareStored(projector.facts, slowly(allTags), allTags, projector.mend);
      for (const [i, record] of history.records.slice(cut).entries()) {
        await take(record);
        if (i % every === 0) await projector.rounds.run(projector.position);
      }
      await comparing;
      await projector.settle();
      expect(await dumpViews(store)).toEqual(await projected(new MemoryViewStore(), history));
      expect(await compareStored(projector.facts, writer.list(allTags), allTags, projector.mend)).toBe(0);
    }),
    { numRuns },
  );
}, 120_000);

const { facts } = foldOf(smallWorld.records);
const views = viewsOf(facts);
const missingFirst = () => views.slice(1).map(stored);

function stored(write: ViewWrite): StoredView {
  const tag = tagOf(write.id);
  if (write.kind !== 'reader') return { tag, kind: write.kind, id: write.id, bytes: write.value, whole: true };
  const fields = new Map(write.fields.map(({ field, value }) => [field, Buffer.from(value!)]));
  return { tag, kind: 'reader', id: write.id, fields };
}

async function* each(all: readonly StoredView[]): AsyncGenerator<StoredView> {
  yield* all;
}

it('a comparison hands over what is missing a few tags at a time', async () => {
  const tags: number[] = [];
  await compareStored(facts, each([]), allTags, (tag) => void tags.push(tag));
  expect(tags).toEqual(tags.toSorted((a, b) => Math.floor(a / 4) - Math.floor(b / 4)));
});

it('a comparison gives others their turn, says how far it is, and stops when it is told to', async () => {
  const clock = new SteppingClock();
  clock.nowMs = () => (clock.ms += 11);
  const told: number[] = [];
  const onCompared = (more: number): void => void told.push(more);
  const comparing = () => compareStored(facts, each(missingFirst()), allTags, () => {}, { clock, onCompared });
  // For each that is listed, for the missing one, and now and then for those that are passed.
  expect(await turnsDuring(comparing)).toBeGreaterThanOrEqual(views.length + 2);
  expect([told.reduce((a, b) => a + b), Math.max(...told), told.at(-1)]).toEqual([views.length, 1, 0]);

  for (const stopAt of [0, 3, views.length]) {
    const stop = new AbortController();
    const { signal } = stop;
    let listed = 0;
    const list = async function* () {
      for (const one of missingFirst()) {
        if (listed++ === stopAt) stop.abort(new Error('told to'));
        yield one;
      }
      stop.abort(new Error('told to'));
    };
    await expect(compareStored(facts, list(), allTags, () => {}, { signal })).rejects.toThrow('told to');
    expect(listed).toBe(Math.min(stopAt + 1, views.length - 1));
  }
  const signal = AbortSignal.abort(new Error('before'));
  await expect(compareStored(facts, each([]), allTags, () => {}, { signal })).rejects.toThrow('before');
});
