import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { compareStored } from '../../../projector/checking/comparison.ts';
import type { ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import { dayText } from '../../../schemas/views/days.ts';
import { readerKey } from '../../../schemas/views/reader-fields.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import {
  dayKey,
  developerKeyKey,
  metroKey,
  nightKey,
  parseKey,
  rideKey,
  riderKey,
} from '../../../schemas/views/view-kinds.ts';
import { encodeView } from '../../../schemas/views/view-values.ts';
import { projecting } from '../../support/processes/service.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { fieldsWrite, valueWrite } from '../../support/stores/view-names.ts';
import { type History, toLogRecord, worldArb } from '../../support/worlds/histories.ts';
import { sampleRecords } from '../../support/worlds/records.ts';
import * as universe from '../../support/worlds/universe.ts';

const numRuns = Number(process.env.RUNS ?? 40);

/** A store with a world's views, and the projector that wrote them. */
async function worldIn(history: History) {
  const store = new MemoryViewStore();
  const writer = store.writer();
  const projector = await projecting(writer);
  for (const record of history.records) {
    const { topic, partition, offset } = record;
    await projector.take({ topic, partition, records: [toLogRecord(record)], nextOffset: offset + 1 });
  }
  await projector.settle();
  return { store, writer, projector };
}

const mendAll = (
  { facts, mend }: Awaited<ReturnType<typeof projecting>>,
  writer: Pick<ViewWriter, 'list'>,
  tags: readonly number[],
) => compareStored(facts, writer.list(tags), tags, mend);

type Corruption =
  /** One of the views there: gone, or other bytes. Picked by number. */
  { at: number; value: Buffer | null } | { extra: Extra };
interface Extra {
  key: string;
  field?: string;
  value: Buffer | null;
}

const someBytes = fc.oneof(
  fc.string().map((text) => encodeView({ odd: text }, null, Buffer.from(text))),
  fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
);

function extraArb(today: number): fc.Arbitrary<Extra> {
  const day = fc.integer({ min: -200, max: 200 }).map((shift) => dayText(today + shift));
  const rider = fc.constantFrom(...universe.riders, universe.nobody, 'stranger');
  const ride = fc.constantFrom(...universe.rides, 'gone');
  const metro = fc.constantFrom(...universe.metros, 'atlantis');
  const key = fc.oneof(
    metro.map(metroKey),
    fc.tuple(metro, day).map(([slug, date]) => dayKey(slug, date)),
    ride.map(rideKey),
    fc.tuple(ride, day).map(([id, date]) => nightKey(id, date)),
    rider.map(riderKey),
    fc.constantFrom('00', 'ff'.repeat(32)).map(developerKeyKey),
    fc.constantFrom('7|junk:1', '7|junk:', dayKey('portland', '2026-6-1'), nightKey('ride1', 'today')),
  );
  const field = fc.tuple(rider, fc.constantFrom('o', 'f', 'x'), day, someBytes);
  return fc.oneof(
    fc.tuple(key, someBytes).map(([name, value]): Extra => ({ key: name, value })),
    field.map(([id, kind, date, value]): Extra => ({ key: readerKey(id), field: `${kind}${date}`, value })),
  );
}

const corruptions = (today: number): fc.Arbitrary<Corruption[]> =>
  fc.array(
    fc.oneof(
      fc.record({ at: fc.nat(), value: fc.oneof(fc.constant(null), someBytes) }),
      extraArb(today).map((extra) => ({ extra })),
    ),
    { minLength: 1, maxLength: 40 },
  );

const writeOf = ({ key, field, value }: Extra): ViewWrite =>
  field === undefined ? valueWrite(key, value) : fieldsWrite(key, { [field]: value?.toString('latin1') ?? null });

async function corrupt(store: MemoryViewStore, writer: ViewWriter, list: readonly Corruption[]): Promise<void> {
  const names = [...(await dumpViews(store)).keys()];
  for (const corruption of list) {
    let extra: Extra;
    if ('extra' in corruption) extra = corruption.extra;
    else {
      const name = names[corruption.at % names.length];
      if (name === undefined) continue;
      const [key, field] = name.split(' ') as [string, string | undefined];
      extra = { key, value: corruption.value, ...(field !== undefined && { field }) };
    }
    await writer.commit(parseKey(extra.key).tag, [writeOf(extra)]);
  }
}

const scenarioArb = worldArb().chain((history) =>
  fc.record({ history: fc.constant(history), corruption: corruptions(history.today) }),
);

describe('reconcile', () => {
  it('mends any views that are gone, altered or extra, and finds nothing more to mend', async () => {
    await fc.assert(
      fc.asyncProperty(scenarioArb, async ({ history, corruption }) => {
        const { store, writer, projector } = await worldIn(history);
        const before = await dumpViews(store);
        await corrupt(store, writer, corruption);
        const after = await dumpViews(store);
        const differing = await mendAll(projector, writer, allTags);
        await projector.settle();
        expect(await dumpViews(store)).toEqual(before);
        const changed = [...new Set([...before.keys(), ...after.keys()])].some(
          (key) => before.get(key) !== after.get(key),
        );
        expect(differing > 0).toBe(changed);
        expect(await mendAll(projector, writer, allTags)).toBe(0);
      }),
      { numRuns },
    );
  }, 120_000);

  it('while changes are folded and written ends in the views of a fresh replay', async () => {
    const scenario = fc.record({
      scenario: scenarioArb,
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      every: fc.integer({ min: 1, max: 9 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ scenario: { history, corruption }, at, every }) => {
        const { records } = history;
        const cut = Math.floor(at * records.length);
        const { store, writer, projector } = await worldIn({ ...history, records: records.slice(0, cut) });
        await corrupt(store, writer, corruption);
        const slowly: Pick<ViewWriter, 'list'> = {
          async *list(tags) {
            for await (const stored of writer.list(tags)) {
              yield stored;
              await new Promise((resolve) => setImmediate(resolve));
            }
          },
        };
        const comparing = mendAll(projector, slowly, allTags);
        for (const [i, record] of records.slice(cut).entries()) {
          const { topic, partition, offset } = record;
          await projector.take({ topic, partition, records: [toLogRecord(record)], nextOffset: offset + 1 });
          if (i % every === 0) await projector.rounds.run(projector.position);
        }
        await comparing;
        await projector.settle();
        const { store: fresh } = await worldIn(history);
        expect(await dumpViews(store)).toEqual(await dumpViews(fresh));
      }),
      { numRuns },
    );
  }, 120_000);

  it('touches the tags it was given alone', async () => {
    await fc.assert(
      fc.asyncProperty(scenarioArb, fc.subarray([...allTags]), async ({ history, corruption }, tags) => {
        const { store, writer, projector } = await worldIn(history);
        const before = await dumpViews(store);
        await corrupt(store, writer, corruption);
        const corrupted = await dumpViews(store);
        await mendAll(projector, writer, tags);
        await projector.settle();
        const after = await dumpViews(store);
        for (const key of new Set([...before.keys(), ...corrupted.keys()])) {
          const wanted = tags.includes(parseKey(key).tag) ? before : corrupted;
          expect(after.get(key)).toBe(wanted.get(key));
        }
      }),
      { numRuns },
    );
  }, 120_000);
});

it('a comparison that is told to stop mends no more, and one that goes on comes to the end', async () => {
  const records = Array.from({ length: 2_000 }, (_, offset) => {
    const rider = `r${offset}`;
    const value = { ...sampleRecords.riders, rider, handle: rider };
    return toLogRecord({ topic: 'riders', partition: 0, offset, timestampMs: 0, key: rider, value });
  });
  const store = new MemoryViewStore();
  const projector = await projecting(store.writer());
  await projector.take({ topic: 'riders', partition: 0, records, nextOffset: records.length });
  await projector.settle();
  const empty = new MemoryViewStore().writer();
  const stop = new AbortController();
  let mended = 0;
  const mend = async () => {
    mended += 1;
  };
  const stopped = compareStored(projector.facts, empty.list(allTags), allTags, mend, { signal: stop.signal });
  stop.abort(new Error('told to'));
  await expect(stopped).rejects.toThrow('told to');
  expect(mended).toBeLessThan(2_000);
  mended = 0;
  await compareStored(projector.facts, empty.list(allTags), allTags, mend, { signal: new AbortController().signal });
  expect(mended).toBe(2_000);
});
