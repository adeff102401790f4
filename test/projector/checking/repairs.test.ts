import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { Repairs } from '../../../projector/checking/repairs.ts';
import { silentLog } from '../../../projector/ports/log.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { projecting } from '../../support/processes/service.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// docs/rules.md#complete
it('views that were read from a store which is gone again are compared once more', async () => {
  const older = new MemoryViewStore();
  const projector = await projecting(older.writer());
  for (const [offset, { topic, key, value }] of smallWorld.records.entries()) {
    const record = toLogRecord({ topic, partition: 0, offset, timestampMs: 0, key, value });
    await projector.take({ topic, partition: 0, records: [record], nextOffset: offset + 1 });
  }
  await projector.settle();
  // The store that the leader took is empty. An older one is there while its views are listed, and nothing is written to it.
  const taken = new MemoryViewStore();
  let process = 'first';
  const writer: ViewWriter = {
    ...taken.writer(),
    async commit(tag, writes, notes) {
      const result = await taken.writer().commit(tag, writes, notes);
      return result.committed ? { ...result, process } : result;
    },
    list(tags, whole) {
      const seen = process === 'first' ? older : taken;
      process = 'second';
      return seen.writer().list(tags, whole);
    },
  };
  const stop = new AbortController();
  const clock = fastClock;
  const lanes = new TagLanes({ writer, clock, signal: stop.signal, tags: allTags, onWritten() {}, onCompare() {} });
  const { facts } = projector;
  const deps = { facts, writer, lanes, metrics: noMetrics, clock, log: silentLog, signal: stop.signal };
  const repairs = new Repairs(deps);
  for (const tag of allTags) repairs.compare(tag, true);
  const running = repairs.run(stop.signal);
  await repairs.done();
  expect(await dumpViews(taken)).toEqual(await dumpViews(older));
  stop.abort();
  await running.catch(() => undefined);
});
