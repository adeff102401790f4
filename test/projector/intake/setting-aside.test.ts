import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { SettingAside } from '../../../projector/intake/setting-aside.ts';
import { tellRejects } from '../../../projector/intake/told-rejects.ts';
import type { EncodedRecord, Reject, RejectSink } from '../../../projector/ports/event-log.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import { gone } from '../../reference/example-log.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import type { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { logOf, placed, positionAt } from '../../support/stores/placed-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';

const bad = (count: number) => Array.from({ length: count }, (_, i) => gone('riders', `not an id ${i}`));

function asideOf(eventLog: MemoryEventLog, sink: Partial<RejectSink>) {
  const deps = { ...sharedDeps(), clock: fastClock, eventLog, barriers: new PositionBarriers(positionAt()) };
  return { stop: deps.stop, aside: new SettingAside({ ...deps, sink: { ...eventLog.rejects, ...sink } }) };
}

const isSetAside = (log: MemoryEventLog, ...offsets: number[]) =>
  expect
    .poll(() => log.rejected.map(({ offset }) => offset).toSorted((a, b) => a - b), { timeout: 10_000 })
    .toEqual(offsets);

// docs/rules.md#rejected
it('bad records that are lost where they were set aside are set aside again, however old, each once, while a projector goes on and as one begins', async () => {
  // Every other one is a tombstone with a key that no rider has.
  const records = bad(10).map((one, i) => (i % 2 === 0 ? one : gone('riders', 'r1')));
  const log = logOf(records.slice(0, 8));
  const start = () => startProjector(log, new MemoryViewStore().writer(), log.rejects, { clock: fastClock });
  const first = start();
  await isSetAside(log, 0, 2, 4, 6);
  log.rejected.splice(1, 2);
  await isSetAside(log, 0, 2, 4, 6);
  log.append(...placed(records).slice(8));
  await isSetAside(log, 0, 2, 4, 6, 8);
  await first.stop();
  log.rejected.splice(0, 4);
  const second = start();
  await isSetAside(log, 0, 2, 4, 6, 8);
  await second.stop();
});

it('a standby sets aside what it meets, waits for none of it, and has the rest set aside once it leads', async () => {
  const log = logOf(bad(1_200));
  let accept = Promise.withResolvers<void>();
  const { aside, stop } = asideOf(log, { publish: (some) => accept.promise.then(() => log.rejects.publish(some)) });
  const met = placed(bad(1_200)).map((record) => {
    const batch: Reject[] = [];
    aside.met(toLogRecord(record), 'no id', batch);
    return batch;
  });
  for (const batch of met) await aside.add(batch);
  expect(log.rejected).toHaveLength(0);
  accept.resolve();
  await aside.drain();
  expect(log.rejected).toHaveLength(1_001);
  aside.begin();
  const watching = aside.watch(stop.signal);
  await expect.poll(() => log.rejected.length, { timeout: 10_000 }).toBe(1_200);
  accept = Promise.withResolvers();
  const many = aside.add(met.slice(0, 1_001).flat());
  // A leader waits.
  expect(await Promise.race([many, sleep(20, 'waits')])).toBe('waits');
  accept.resolve();
  await many;
  stop.abort();
  await watching;
});

it('a loss that is told once a term has ended is mended in the next one', async () => {
  const log = logOf(bad(2));
  const answer = Promise.withResolvers<boolean>();
  const answers = [answer.promise];
  const { aside, stop } = asideOf(log, { holdsAll: async () => answers.shift() ?? true });
  const term = new AbortController();
  const watching = aside.watch(term.signal);
  await sleep(20);
  term.abort();
  await watching;
  answer.resolve(false);
  await sleep(20);
  expect(log.rejected).toEqual([]);
  const next = aside.watch(stop.signal);
  await isSetAside(log, 0, 1);
  stop.abort();
  await next;
});

// docs/rules.md#rejected
it('bad records are told in a line a second at most, and how many it leaves out', async () => {
  const { lines, clock, ...deps } = sharedDeps();
  let second = Promise.withResolvers<void>();
  clock.sleep = () => second.promise;
  const told = tellRejects({ clock, ...deps });
  const tell = (offset: number) => told({ topic: 'nights', partition: 3, offset } as EncodedRecord, 'no key');
  const passes = async () => {
    const { resolve } = second;
    second = Promise.withResolvers();
    resolve();
    await Promise.resolve();
    return lines.splice(0);
  };
  tell(1);
  expect(await passes()).toEqual(['Rejected record at nights/3@1: no key']);
  for (const offset of [2, 3, 4, 7]) tell(offset);
  expect(await passes()).toEqual([
    'Rejected record at nights/3@2: no key',
    'Rejected record at nights/3@7: no key (and 2 more since the last line)',
  ]);
  tell(8);
  expect(lines).toEqual([]);
  expect(await passes()).toEqual(['Rejected record at nights/3@8: no key']);
  expect(await passes()).toEqual([]);
  tell(9);
  expect(lines).toEqual(['Rejected record at nights/3@9: no key']);
});
