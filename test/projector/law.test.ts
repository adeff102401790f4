import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { latestRecords } from '../reference/facts.ts';
import { projecting } from '../support/processes/service.ts';
import { projected } from '../support/stores/projector-run.ts';
import { dumpViews } from '../support/stores/view-dump.ts';
import { type History, historyArb } from '../support/worlds/histories.ts';
import { compactions, deliveries, interleavings } from '../support/worlds/log-orders.ts';

// The law: views = f(last good record per key that the log holds), to the byte. More runs: RUNS=5000 npx vitest run …
const numRuns = Number(process.env.RUNS ?? 30);

const replayed = (history: Pick<History, 'partitions' | 'records'>): Promise<Map<string, string>> =>
  projected(new MemoryViewStore(), history);

describe('the views', () => {
  // docs/rules.md#law
  it('are those of a fresh replay after any batches, repeats and moments of writing', async () => {
    const scenario = historyArb().chain((history) =>
      fc.record({
        history: fc.constant(history),
        batches: deliveries(history),
        roundEvery: fc.integer({ min: 1, max: 9 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(scenario, async ({ history, batches, roundEvery }) => {
        const store = new MemoryViewStore();
        // Small slices, so that fan-outs take many rounds here too.
        const projector = await projecting(store.writer(), { inlineMax: 1, slice: 2 });
        for (const [i, batch] of batches.entries()) {
          await projector.take(batch);
          if (i % roundEvery === 0) await projector.rounds.run(projector.position);
        }
        await projector.settle();
        expect(await dumpViews(store)).toEqual(await replayed(history));
      }),
      { numRuns },
    );
  });

  // docs/rules.md#absent-references, #last-record-wins, #compaction
  it.each([
    ['interleaving of keys, partitions and topics', interleavings],
    [
      'compaction that leaves the last good record of each key',
      (history: History) => compactions(history).map(({ records }) => records),
    ],
  ])('are the same for any %s', async (_, others) => {
    const scenario = historyArb().chain((history) => fc.tuple(fc.constant(history), others(history)));
    await fc.assert(
      fc.asyncProperty(scenario, async ([history, records]) => {
        // Compaction knows nothing of good and bad: it may leave a bad record as a key's last, and so other facts.
        fc.pre(isDeepStrictEqual(latestRecords(records), latestRecords(history.records)));
        expect(await replayed({ ...history, records })).toEqual(await replayed(history));
      }),
      { numRuns },
    );
  });
});
