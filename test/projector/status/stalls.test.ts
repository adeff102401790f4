import { afterEach, expect, test } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import type { LogStatus } from '../../../projector/ports/event-log.ts';
import { StoreRefusesError } from '../../../projector/ports/view-writer.ts';
import { realClock } from '../../../projector/running/clock.ts';
import { Status } from '../../../projector/status/status.ts';
import { rider } from '../../reference/example-log.ts';
import { logOf, placed } from '../../support/stores/placed-log.ts';
import { type Running, startProjector } from '../../support/stores/projector-run.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';

// A projector that is stuck says so: the age of what is not readable grows, and what it waits for is named.

let running: Running | undefined;
afterEach(() => running?.stop().catch(() => {}));

/** A projector whose log a test can hold up. */
async function stuck() {
  const told = { status: null as LogStatus | null };
  const eventLog = Object.assign(logOf([rider('r0')]), { status: () => told.status });
  running = startProjector(eventLog, new MemoryViewStore().writer());
  await running.ready();
  const { projector } = running;
  const ageMs = () => {
    const { unreadableSinceMs } = projector.status();
    return unreadableSinceMs === null ? null : realClock.nowMs() - unreadableSinceMs;
  };
  return { told, projector, ageMs, waits: () => [...projector.status().waits.keys()] };
}

test('a log that does not answer or lacks topics is waited for though nobody knows of a change, and what is known is told', async () => {
  const { told, ageMs, waits, projector } = await stuck();
  await expect.poll(ageMs).toBeNull();
  const sinceMs = realClock.nowMs() - 3_000;
  const at = { topic: 'riders' as const, partition: 0, end: 7, unreadSinceMs: sinceMs, waits: null };
  told.status = { partitions: [at], silentSinceMs: sinceMs, lacks: 'Kafka no longer has riders' };
  const since = /^since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ it has waited for Kafka, which does not answer/;
  expect(projector.status().troubles).toEqual(['Kafka no longer has riders', expect.stringMatching(since)]);
  expect(ageMs()).toBeGreaterThanOrEqual(3_000);
  expect(waits()).toEqual(['kafka']);
  expect(projector.status().partitions).toContainEqual({ topic: 'riders', partition: 0, readable: 1, end: 7 });
  const asks = (ms: number) => ({ ...at, waits: { for: 'registry' as const, sinceMs: realClock.nowMs() - ms } });
  told.status = { partitions: [asks(900)], silentSinceMs: null };
  expect(waits()).toEqual(['registry']);
  // Its end is not asked for as often as it is read.
  told.status = { partitions: [{ ...at, end: 0 }], silentSinceMs: null };
  expect(projector.status().partitions).toContainEqual({ topic: 'riders', partition: 0, readable: 1, end: 1 });
  // What is answered at once is not waited for.
  told.status = { partitions: [asks(0)], silentSinceMs: null };
  expect(waits()).toEqual([]);
});

test('a projector that has ended makes nothing readable any more', async () => {
  const { ageMs, projector } = await stuck();
  await expect.poll(ageMs).toBeNull();
  await running!.stop();
  await expect.poll(ageMs).toBeGreaterThan(100);
  expect(projector.status().role).toBe('standby');
});

test('Kafka is waited for while it does not say where it ends, and an archive, which is read, is not', async () => {
  const never = { bounds: () => new Promise<never>(() => {}) };
  const begin = (more: object) =>
    startProjector(Object.assign(logOf(), never, more), new MemoryViewStore().writer(), null);
  const archive = begin({});
  const kafka = begin({ identity: async () => 'topic ids' });
  await expect.poll(() => [...kafka.projector.status().waits.keys()]).toEqual(['kafka']);
  expect([...archive.projector.status().waits.keys()]).toEqual([]);
  await Promise.all([archive.stop(), kafka.stop()]);
});

test('a standby is ready once it is folded, stays so while it falls behind, and is not beside views of another log', () => {
  const { lines, ...deps } = sharedDeps();
  const status = new Status({ ...deps, eventLog: logOf() });
  const followed = (fold: Parameters<Status['followed']>[0]): boolean => {
    status.followed(fold);
    return status.ready;
  };
  const all = ['no views', 'behind', 'folded', 'behind', 'of another log', 'of another log', 'behind'] as const;
  expect(all.map(followed)).toEqual([false, false, true, true, false, false, false]);
  expect(lines).toEqual([
    'Ready: standing by with the log read, to take over if the leader ends',
    expect.stringMatching(/^Not ready: .*: stop those with another KAFKA_BROKERS, KAFKA_TOPIC_PREFIX or ARCHIVE_DIR$/),
  ]);
  status.followed('of another log');
  expect(status.now(null).troubles).toEqual([expect.stringContaining('of another log')]);
  status.judged(false);
  deps.clock.ms += 1_000;
  const waits = () => [...status.now(null).waits.keys()];
  expect(waits()).toEqual(['redis', 'leader']);
  status.stand('leader');
  expect([status.now(null).troubles, status.ready, waits()]).toEqual([[], false, []]);
});

test('what is unreadable longest counts until another leads, and each reason is said once, where it is', () => {
  const deps = sharedDeps();
  const { clock } = deps;
  const status = new Status({ ...deps, eventLog: logOf() });
  status.stand('leader');
  status.caughtUp();
  expect(deps.lines).toEqual(['Ready: the views stand at the ends sampled at the start']);
  const sinceMs = clock.ms;
  status.repairing(2);
  clock.ms += 1_000;
  status.changes.take({ records: [toLogRecord(placed([rider('r0')])[0]!)] }, 0);
  clock.ms += 1_000;
  status.repairing(1);
  expect(status.now(null).unreadableSinceMs).toBe(sinceMs);
  // What the store lost is found by comparing, in a next term: till then no round makes it readable.
  status.termEnded(true);
  status.changes.written(status.changes.begin(), 0);
  expect([status.now(null).tagsInRepair, status.changes.sinceMs]).toEqual([0, sinceMs + 1_000]);
  const full = new StoreRefusesError('the view store is full', { retry: true });
  for (const tag of ['tag 1', 'tag 2']) status.waits.begin('redis', tag, full);
  status.waits.begin('rejects');
  clock.ms += 1_000;
  const notes = () => status.now(null).notes;
  expect([status.now(null).troubles, notes()]).toEqual([
    ['the view store is full'],
    ['rejected records wait to be copied to their topic, and the stored position with them: the log says why'],
  ]);
  // Rejects are copied to Kafka, too.
  status.waits.begin('kafka');
  clock.ms += 1_000;
  expect(notes()).toEqual([]);
  status.stand('standby');
  expect([status.now(null).unreadableSinceMs, [...status.now(null).waits.keys()]]).toEqual([
    null,
    ['kafka', 'rejects'],
  ]);
});
