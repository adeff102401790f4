import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { Folding } from '../../../projector/intake/folding.ts';
import { Leader } from '../../../projector/leading/leader.ts';
import type { LogBounds } from '../../../projector/ports/event-log.ts';
import { silentLog } from '../../../projector/ports/log.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import { Status } from '../../../projector/status/status.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;
const value = { ...sampleRecords.riders, rider: 'ada', handle: 'ada' };
const taken = new Map(allTags.map((tag) => [tag, { position: null, open: [], compare: false }]));

/** A leader over a log with one rider. `bounds`: what the log says of its ends. */
async function leading(bounds?: (stop: AbortController) => Promise<LogBounds>) {
  const eventLog = new MemoryEventLog({
    partitions,
    records: [{ topic: 'riders', partition: 0, offset: 0, timestampMs: 0, key: 'ada', value }],
  });
  const store = new MemoryViewStore();
  const stop = new AbortController();
  const shared = { eventLog, clock: fastClock, log: silentLog, metrics: noMetrics, signal: stop.signal };
  const folding = new Folding(await eventLog.bounds(), null, { ...shared, rejects: null });
  folding.follow(stop.signal);
  const status = new Status({ ...shared, writer: store.writer() });
  status.stand('leader');
  if (bounds) eventLog.bounds = () => bounds(stop);
  const { writer } = status;
  const leader = new Leader({ ...shared, writer, folding, tags: allTags, identity: null, status, checkEveryMs: null });
  return { store, stop, status, lead: () => leader.lead(taken) };
}

it('a term fills the store, and writes on until it is told to stop', async () => {
  const { store, stop, status, lead } = await leading();
  const end = lead();
  await expect.poll(() => status.ready, { timeout: 60_000 }).toBe(true);
  expect([...(await dumpViews(store)).keys()]).toHaveLength(1);
  stop.abort();
  expect(await end).toBe('stopped');
  expect(status.now(null).tagsInRepair).toBe(0);
});

it('a term ends with the log’s own fault, and writes nothing', async () => {
  const { store, lead } = await leading(() => Promise.reject(new Error('no such topic')));
  await expect(lead()).rejects.toThrow('no such topic');
  expect(await dumpViews(store)).toEqual(new Map());
});

it('a term that is told to stop waits for no log', async () => {
  const { store, stop, lead } = await leading(() => new Promise(() => {}));
  const end = lead();
  stop.abort();
  expect(await end).toBe('stopped');
  const late = await leading((stopping) => {
    stopping.abort();
    return Promise.reject(new Error('connection closed'));
  });
  expect(await late.lead()).toBe('stopped');
  const before = await leading();
  before.stop.abort();
  expect(await before.lead()).toBe('stopped');
  for (const each of [store, late.store, before.store]) expect(await dumpViews(each)).toEqual(new Map());
});
