import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { archiveEventLog } from '../../infra/archive/archive-event-log.ts';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import type { EventLog } from '../../projector/ports/event-log.ts';
import { tagsOfShard } from '../../schemas/views/view-keys.ts';
import { fastClock } from '../support/fast-clock.ts';
import { FencedStore } from '../support/fenced-store.ts';
import { type History, historyArb, worldArb } from '../support/histories.ts';
import { deliveries } from '../support/log-orders.ts';
import { MemoryEventLog } from '../support/memory-event-log.ts';
import { portlandDirectory } from '../support/portland.ts';
import { startProjector } from '../support/projector-run.ts';
import { projecting } from '../support/service.ts';
import { dumpViews } from '../support/view-dump.ts';

const numRuns = Number(process.env.RUNS ?? 80);

const each = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** What the shards of a log write into one store, each by a projector of its own. */
async function written(log: () => EventLog, shards: number): Promise<Map<string, string>> {
  const store = new MemoryViewStore();
  for (const index of each(shards)) {
    const eventLog = log();
    const running = startProjector(eventLog, store.writer(), null, { tags: tagsOfShard(index, shards), shards });
    await running.ready();
    await running.stop();
    await eventLog.close();
  }
  expect((await store.reader().ready()).ready).toBe(true);
  return dumpViews(store);
}

const views = (history: History, shards: number) => written(() => new MemoryEventLog(history), shards);

describe('projectors that divide the tags', { timeout: 120_000 }, () => {
  it('write together what one writes alone, of Portland', async () => {
    const portland = () => archiveEventLog({ dir: portlandDirectory });
    const together = await written(portland, 3);
    expect(together.size).toBeGreaterThan(1_000);
    expect(together).toEqual(await written(portland, 1));
  });

  it('write together what one writes alone, after any history that they find', async () => {
    await fc.assert(
      fc.asyncProperty(historyArb(), async (history) => {
        const alone = await views(history, 1);
        for (const shards of [2, 3, 4]) expect(await views(history, shards)).toEqual(alone);
      }),
      { numRuns: Math.ceil(numRuns / 2) },
    );
  });

  it('write together what one writes alone, whatever changes while they write', async () => {
    const scenario = historyArb().chain((history) =>
      fc.record({
        history: fc.constant(history),
        batches: deliveries(history),
        roundEvery: fc.integer({ min: 1, max: 9 }),
        shards: fc.integer({ min: 2, max: 4 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(scenario, async ({ history, batches, roundEvery, shards }) => {
        const store = new MemoryViewStore();
        const projectors = await Promise.all(
          each(shards).map((index) =>
            projecting(store.writer(), { inlineMax: 1, slice: 2 }, { tags: tagsOfShard(index, shards) }),
          ),
        );
        for (const [i, batch] of batches.entries()) {
          for (const projector of projectors) {
            await projector.take(batch);
            if (i % roundEvery === 0) await projector.rounds.run(projector.position);
          }
        }
        for (const projector of projectors) await projector.settle();
        expect(await dumpViews(store)).toEqual(await views(history, 1));
      }),
      { numRuns },
    );
  });

  it('compare no view where a leader of their own shard was before, and all where there was another number of shards', async () => {
    const store = new FencedStore();
    const records = fc.sample(worldArb(), { numRuns: 1, seed: 3 })[0]!;
    let listed = 0;
    const lead = async (index: number, shards: number) => {
      const writer = store.writer();
      const tags = tagsOfShard(index, shards);
      const list = (some: readonly number[]) => {
        listed += some.length;
        return writer.list(some);
      };
      const running = startProjector(new MemoryEventLog(records), { ...writer, list }, null, {
        tags,
        shards,
        clock: fastClock,
      });
      await running.ready();
      // That a tag was compared is said a round later.
      while (tags.some((tag) => store.tag(tag).compare)) await new Promise((resolve) => setImmediate(resolve));
      await running.stop();
      return listed;
    };
    expect([await lead(0, 2), await lead(1, 2)]).toEqual([32, 64]);
    expect([await lead(0, 2), await lead(1, 2)]).toEqual([64, 64]);
    expect(await lead(0, 1)).toBe(128);
    expect(await dumpViews(store)).toEqual(await views(records, 1));
  });
});
