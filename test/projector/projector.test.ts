import { afterEach, describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { parseKey, rideKey, riderKey } from '../../schemas/views/view-kinds.ts';
import { metro, ride, rider } from '../reference/example-log.ts';
import { logOf } from '../support/stores/placed-log.ts';
import { type Running, startProjector } from '../support/stores/projector-run.ts';
import { SharedStore } from '../support/stores/shared-store.ts';
import { dumpViews } from '../support/stores/view-dump.ts';

const running: Running[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop().catch(() => {});
});

/** A projector over a log of three records, of which two are delivered and folded so far. */
async function amid() {
  const log = logOf([metro('pdx'), rider('r1'), ride('ride1')]);
  log.reveal(2);
  const store = new MemoryViewStore();
  const one = startProjector(log, store.writer());
  running.push(one);
  await expect.poll(() => one.projector.facts.riders.length, { interval: 2 }).toBe(1);
  const isThere = async (key: string) => (await store.reader().get([key]))[0] !== null;
  return { ...one, log, store, isThere };
}

describe('a projector', () => {
  // docs/rules.md#ready-projector
  it('is ready once its views stand at the ends sampled at its start, and writes none before', async () => {
    const { projector, ready, log, store } = await amid();
    expect(projector.ready).toBe(false);
    expect(await dumpViews(store)).toEqual(new Map());
    log.reveal(3);
    await ready();
    const kinds = [...(await dumpViews(store)).keys()].map((key) => parseKey(key).kind);
    expect(kinds.sort()).toEqual(['metro', 'ride', 'rider']);
    expect((await store.reader().ready()).ready).toBe(true);
  });

  // docs/rules.md#schema-registry
  it('does not wait at its start for a partition that itself waits for a schema registry', async () => {
    const { ready, log, isThere } = await amid();
    log.setWaiting('rides', 0, true);
    await ready();
    expect(await isThere(riderKey('r1'))).toBe(true);
    log.setWaiting('rides', 0, false);
    log.reveal(3);
    await expect.poll(() => isThere(rideKey('ride1')), { timeout: 10_000 }).toBe(true);
  });

  it('ends with the fault where the store would lose views', async () => {
    const unfit = Object.assign(new Error('evicts'), { retry: false });
    const writer = new SharedStore().writer();
    const leadership = { ...writer.leadership!, look: () => Promise.reject(unfit) };
    const { ended } = startProjector(logOf(), { ...writer, leadership });
    await expect(ended).rejects.toBe(unfit);
  });
});
