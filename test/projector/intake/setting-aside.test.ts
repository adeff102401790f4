import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { SettingAside } from '../../../projector/intake/setting-aside.ts';
import { tellRejects } from '../../../projector/intake/told-rejects.ts';
import type { EncodedRecord, Reject, RejectSink } from '../../../projector/ports/event-log.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import type { Clock } from '../../../projector/running/clock.ts';
import { Waits } from '../../../projector/status/waits.ts';
import { gone } from '../../reference/example-log.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import type { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { logOf, placed, positionAt } from '../../support/stores/placed-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';

const bad = (count: number) => Array.from({ length: count }, (_, i) => gone('riders', `not an id ${i}`));

function asideOf(eventLog: MemoryEventLog, sink: Partial<RejectSink>, more: { waits?: Waits; clock?: Clock } = {}) {
  const deps = { ...sharedDeps(), clock: fastClock, eventLog, barriers: new PositionBarriers(positionAt()), ...more };
  const aside = new SettingAside({ ...deps, sink: { ...eventLog.rejects, ...sink } });
  return { stop: deps.stop, lines: deps.lines, aside };
}

const isSetAside = (log: MemoryEventLog, ...offsets: number[]) =>
  expect.poll(() => log.rejected.map(({ offset }) => offset).toSorted((a, b) => a - b)).toEqual(offsets);

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
  const log = logOf([...bad(1_200), gone('rides', 'ride0001')]);
  const clock = new SteppingClock();
  const waits = new Waits({ clock, log: silentLog, logStatus: () => null });
  const isWaiting = () => {
    clock.ms += 1_000;
    return waits.current().has('rejects');
  };
  let accept = Promise.withResolvers<void>();
  const publish: RejectSink['publish'] = async (some) => {
    expect(some).not.toEqual([]);
    await accept.promise;
    return log.rejects.publish(some);
  };
  const { aside, stop, lines } = asideOf(log, { publish }, { waits });
  const records = placed(bad(1_200)).map(toLogRecord);
  const meet = (some: EncodedRecord[]) => {
    const batch: Reject[] = [];
    for (const record of some) aside.met(record, 'no id', batch);
    return batch;
  };
  await aside.add([]);
  for (let from = 0; from < 1_200; from += 100) await aside.add(meet(records.slice(from, from + 100)));
  const all = meet(records);
  expect([log.rejected.length, isWaiting()]).toEqual([0, true]);
  accept.resolve();
  accept = Promise.withResolvers();
  await expect.poll(() => log.rejected.length).toBe(100);
  expect(isWaiting()).toBe(true);
  accept.resolve();
  await aside.drain();
  expect([log.rejected.length, isWaiting(), lines]).toEqual([1_100, false, []]);
  aside.begin();
  meet(records.slice(7, 8));
  const watching = aside.watch(stop.signal);
  await expect.poll(() => lines).toHaveLength(3);
  expect([log.rejected.length, isWaiting()]).toEqual([1_200, false]);
  accept = Promise.withResolvers();
  const many = aside.add(all);
  // A leader waits.
  expect(await Promise.race([many, sleep(20, 'waits')])).toBe('waits');
  accept.resolve();
  await many;
  stop.abort();
  await watching;
  aside.end();
  meet(records);
  expect(lines).toEqual([
    'Rejected record at riders/0@7: no id',
    expect.stringMatching(/^The topic of rejected records has another leader, or was made anew, and may lack some: /),
    'Copied again: 100 rejected records',
  ]);
});

it('a loss that is told once a term has ended is mended in the next one', async () => {
  const log = logOf(bad(2));
  const answer = Promise.withResolvers<boolean>();
  const answers = [true, answer.promise];
  const { aside, stop, lines } = asideOf(log, { holdsAll: async () => answers.shift() ?? true });
  const term = async () => {
    const ended = new AbortController();
    const watching = aside.watch(ended.signal);
    await sleep(20);
    ended.abort();
    await watching;
  };
  await term();
  await term();
  answer.resolve(false);
  await sleep(20);
  expect([log.rejected, lines]).toEqual([[], []]);
  const next = aside.watch(stop.signal);
  await expect.poll(() => lines).toHaveLength(2);
  stop.abort();
  await next;
  expect(log.rejected).toHaveLength(2);
  await term();
  expect(lines).toHaveLength(2);
});

// docs/rules.md#rejected
it('a leader looks every ten seconds whether all that was set aside is still there', async () => {
  const clock = new SteppingClock();
  let asked = 0;
  const holdsAll = async () => {
    if (++asked === 3) stop.abort();
    return true;
  };
  const { aside, stop } = asideOf(logOf(), { holdsAll }, { clock });
  await aside.watch(stop.signal);
  expect(clock.slept.slice(0, 2)).toEqual([10_000, 10_000]);
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
