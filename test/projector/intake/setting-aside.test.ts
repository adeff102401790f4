import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { SettingAside } from '../../../projector/intake/setting-aside.ts';
import type { Reject, RejectSink } from '../../../projector/ports/event-log.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';

const bad = { topic: 'riders' as const, partition: 0, timestampMs: 7, value: null };
const wait = () => new Promise((resolve) => setTimeout(resolve, 20));

function asideOf(eventLog: MemoryEventLog, sink: RejectSink) {
  const stop = new AbortController();
  const barriers = new PositionBarriers(byTopic(() => [0]));
  const aside = new SettingAside({ eventLog, sink, barriers, clock: fastClock, log: silentLog, signal: stop.signal });
  return { aside, stop };
}

const placed = { partition: 0, timestampMs: 7, value: null };
/** Every other one is a tombstone with a key that no rider has. */
const records = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    topic: 'riders' as const,
    offset: from + i,
    key: (from + i) % 2 === 0 ? `not an id ${from + i}` : 'r1',
    ...placed,
  }));

const offsetsIn = ({ rejected }: MemoryEventLog): number[] =>
  rejected.map(({ offset }) => offset).toSorted((a, b) => a - b);
const isSetAside = (log: MemoryEventLog, ...offsets: number[]) =>
  expect.poll(() => offsetsIn(log), { timeout: 10_000 }).toEqual(offsets);

// docs/rules.md#rejected
it('bad records that are lost where they were set aside are set aside again, however old, each once, while a projector goes on and as one begins', async () => {
  const log = new MemoryEventLog({ partitions: byTopic(() => 1), records: records(0, 8) });
  const start = () => startProjector(log, new MemoryViewStore().writer(), log.rejects, { clock: fastClock });
  const first = start();
  await isSetAside(log, 0, 2, 4, 6);
  log.rejected.splice(1, 2);
  await isSetAside(log, 0, 2, 4, 6);
  log.append(...records(8, 10));
  await isSetAside(log, 0, 2, 4, 6, 8);
  await first.stop();
  log.rejected.splice(0, 4);
  const second = start();
  await isSetAside(log, 0, 2, 4, 6, 8);
  await second.stop();
});

it('a standby sets aside what it meets, waits for none of it, and has the rest set aside once it leads', async () => {
  const records = Array.from({ length: 1_200 }, (_, offset) => ({ ...bad, offset, key: `not an id ${offset}` }));
  const log = new MemoryEventLog({ partitions: byTopic(() => 1), records });
  let accept = Promise.withResolvers<void>();
  const sink: RejectSink = { ...log.rejects, publish: (some) => accept.promise.then(() => log.rejects.publish(some)) };
  const { aside, stop } = asideOf(log, sink);
  const encoded = records.map((record) => toLogRecord(record));
  for (const record of encoded) {
    const batch: Reject[] = [];
    aside.met(record, 'no id', batch);
    await aside.add(batch);
  }
  expect(log.rejected).toHaveLength(0);
  accept.resolve();
  await aside.drain();
  expect(log.rejected).toHaveLength(1_001);
  aside.begin();
  const watching = aside.watch(stop.signal);
  await expect.poll(() => log.rejected.length, { timeout: 10_000 }).toBe(1_200);
  accept = Promise.withResolvers();
  const batch: Reject[] = [];
  aside.met(encoded[0]!, 'no id', batch);
  let isDone = false;
  const many = aside.add(Array.from({ length: 1_001 }, () => batch[0]!)).then(() => {
    isDone = true;
  });
  await wait();
  // A leader waits.
  expect(isDone).toBe(false);
  accept.resolve();
  await many;
  stop.abort();
  await watching;
});

it('a loss that is told once a term has ended is mended in the next one', async () => {
  const records = [0, 1].map((offset) => ({ ...bad, offset, key: `not an id ${offset}` }));
  const log = new MemoryEventLog({ partitions: byTopic(() => 1), records });
  const answer = Promise.withResolvers<boolean>();
  const answers = [answer.promise];
  const sink: RejectSink = { ...log.rejects, holdsAll: async () => answers.shift() ?? true };
  const { aside, stop } = asideOf(log, sink);
  const term = new AbortController();
  const watching = aside.watch(term.signal);
  await wait();
  term.abort();
  await watching;
  answer.resolve(false);
  await wait();
  expect(log.rejected).toEqual([]);
  const next = aside.watch(stop.signal);
  await isSetAside(log, 0, 1);
  stop.abort();
  await next;
});
