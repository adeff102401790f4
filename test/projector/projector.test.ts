import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { parseKey } from '../../schemas/views/view-kinds.ts';
import { metro, ride, rider } from '../reference/example-log.ts';
import { logOf } from '../support/stores/placed-log.ts';
import { startProjector } from '../support/stores/projector-run.ts';
import { dumpViews } from '../support/stores/view-dump.ts';

// docs/rules.md#ready-projector
it('a projector is ready once its views stand at the ends sampled at its start, and writes none before', async () => {
  const log = logOf([metro('pdx'), rider('r1'), ride('ride1')]);
  log.reveal(2);
  const store = new MemoryViewStore();
  const { projector, ready, stop } = startProjector(log, store.writer());
  try {
    await expect.poll(() => projector.facts.riders.length, { interval: 2 }).toBe(1);
    expect(projector.ready).toBe(false);
    expect(await dumpViews(store)).toEqual(new Map());
    log.reveal(3);
    await ready();
    const kinds = [...(await dumpViews(store)).keys()].map((key) => parseKey(key).kind);
    expect(kinds.sort()).toEqual(['metro', 'ride', 'rider']);
    expect((await store.reader().ready()).ready).toBe(true);
  } finally {
    await stop();
  }
});
