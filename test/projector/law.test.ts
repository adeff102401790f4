import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import type { CommitResult, ViewWriter } from '../../projector/ports/view-writer.ts';
import { latestRecords } from '../reference/facts.ts';
import { projecting } from '../support/processes/service.ts';
import { fastClock } from '../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../support/stores/memory-event-log.ts';
import { projected, type Running, startProjector } from '../support/stores/projector-run.ts';
import { SharedStore } from '../support/stores/shared-store.ts';
import { dumpViews } from '../support/stores/view-dump.ts';
import { type History, historyArb } from '../support/worlds/histories.ts';
import { compactions, deliveries, interleavings } from '../support/worlds/log-orders.ts';

// The law: views = f(last good record per key that the log holds), to the byte. More runs: RUNS=5000 npx vitest run …
const numRuns = Number(process.env.RUNS ?? 30);

const replayed = (history: Pick<History, 'partitions' | 'records'>): Promise<Map<string, string>> =>
  projected(new MemoryViewStore(), history);

describe('the views', { timeout: 120_000 }, () => {
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

  // docs/rules.md#beginning
  it('are those of a fresh replay after kills at any moment, while the log grows and is compacted, and others lead', async () => {
    const scenario = historyArb().chain((history) =>
      fc.record({
        history: fc.constant(history),
        compacted: compactions(history),
        lives: fc.array(fc.record({ upTo: fc.nat(1000), commits: fc.nat(400) }), { minLength: 1, maxLength: 3 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(scenario, async ({ history, compacted, lives }) => {
        const store = new SharedStore();
        for (const { upTo, commits } of lives.toSorted((a, b) => a.upTo - b.upTo)) {
          const count = Math.ceil((history.records.length * upTo) / 1000);
          const { writer, kill, killed } = mortalWriter(store.writer(), commits);
          const log = new MemoryEventLog({ ...history, records: history.records.slice(0, count) });
          const running = startProjector(log, writer, null, { clock: fastClock });
          const ending = new AbortController();
          await Promise.race([killed, leading(running, ending.signal)]);
          kill();
          ending.abort();
          await running.stop();
        }
        const last = startProjector(new MemoryEventLog(compacted), store.writer(), null, { clock: fastClock });
        await leading(last);
        const wanted = await replayed(compacted);
        await expect.poll(() => dumpViews(store)).toEqual(wanted);
        await last.stop();
      }),
      // Each life waits for the fences to stand still.
      { numRuns: Math.ceil(numRuns / 4) },
    );
  });
});

/** Resolves once a projector leads, and its views stand at the ends; and when told to stop. */
async function leading({ projector }: Running, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted && (projector.role !== 'leader' || !projector.ready))
    await new Promise((resolve) => setTimeout(resolve, 1));
}

/**
 * A writer whose process can be killed, and dies by itself after so many batches: from then on nothing of it reaches the
 * store, its goodbyes neither.
 */
function mortalWriter(writer: ViewWriter, commits: number) {
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  let [left, dead] = [commits, false];
  const kill = (): void => {
    dead = true;
    resolve();
  };
  const alive = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (dead) throw new Error('killed');
      return call(...args);
    };
  };
  const leadership = writer.leadership!;
  return {
    kill,
    killed,
    writer: {
      ...writer,
      commit: alive<Parameters<ViewWriter['commit']>, CommitResult>(async (...args) => {
        if (left-- > 0) return writer.commit(...args);
        kill();
        throw new Error('killed');
      }),
      leadership: {
        ...leadership,
        look: alive(leadership.look),
        coming: alive(leadership.coming),
        take: alive(leadership.take),
        free: alive(leadership.free),
      },
    },
  };
}
