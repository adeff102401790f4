import { expect, test } from 'vitest';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { measuredWriter } from '../../../projector/status/measured-writer.ts';
import { Waits } from '../../../projector/status/waits.ts';
import { silentLog } from '../../support/processes/heard.ts';
import { lead } from '../../support/stores/lead.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';

/** A writer whose batches of tag 1 are refused for want of memory, a second each; since when it is waited for. */
async function full() {
  const state = { isFull: true, tookMs: 1_000 };
  const clock = { ms: 0, nowMs: () => clock.ms, wallMs: () => 0, sleep: async () => {} };
  const waits = new Waits({ clock, log: silentLog, logStatus: () => null });
  const plain = new SharedStore().writer();
  const commit: ViewWriter['commit'] = async (tag, ...batch) => {
    clock.ms += state.tookMs;
    if (tag === 1 && state.isFull) throw new Error('OOM');
    return plain.commit(tag, ...batch);
  };
  const store = { ...plain, commit };
  await lead(store);
  clock.ms = 0;
  const writer = measuredWriter(store, { waits, clock, metrics: noMetrics });
  const write = () => writer.commit(1, []).catch(() => {});
  const since = () => waits.current().get('redis');
  await write();
  return { waits, clock, writer, write, since, store: state };
}

test('a batch that is refused is waited for until it succeeds, whatever else does', async () => {
  const { writer, write, since, store } = await full();
  store.tookMs = 499;
  await writer.read([]);
  await writer.leadership!.look([1]);
  await writer.leadership!.coming([2]);
  for await (const _ of writer.list([1])) expect.unreachable();
  await writer.commit(2, []);
  await write();
  expect(since()).toBe(0);
  store.isFull = false;
  await write();
  expect(since()).toBeUndefined();
});

test('a tag that is refused is waited for until it is taken, or takes a sign of life, whatever other tags do, also as it is given up', async () => {
  const clock = { ms: 0, nowMs: () => clock.ms, wallMs: () => 0, sleep: async () => {} };
  const waits = new Waits({ clock, log: silentLog, logStatus: () => null });
  const store = new SharedStore().writer();
  let isRefused = true;
  const { take, free } = store.leadership!;
  const refuse = (tag: number): void => {
    if (tag === 1 && isRefused) throw new Error('READONLY');
  };
  store.leadership!.take = async (tag, ...how) => {
    refuse(tag);
    return take(tag, ...how);
  };
  store.leadership!.free = async (tag) => {
    refuse(tag);
    return free(tag);
  };
  const { leadership } = measuredWriter(store, { waits, clock, metrics: noMetrics });
  const causes = () => waits.causes('redis').map(({ message }) => message);
  for (const end of [() => leadership!.take(1, '', false), () => leadership!.coming([1, 2])]) {
    isRefused = true;
    await leadership!.take(1, '', false).catch(() => {});
    await leadership!.take(2, '', false);
    expect(causes()).toEqual(['READONLY']);
    isRefused = false;
    await end();
    expect(causes()).toEqual([]);
  }
  isRefused = true;
  await leadership!.free(1).catch(() => {});
  await leadership!.free(2);
  expect(causes()).toEqual(['READONLY']);
});

test('a store that always answers late is waited for from the first late answer until a prompt one', async () => {
  const { waits, clock, write, since, store } = await full();
  Object.assign(store, { isFull: false, tookMs: 0 });
  await write();
  store.tookMs = 600;
  for (let i = 0; i < 50; i++) await write();
  expect(clock.ms - since()!).toBe(50 * 600);
  expect(waits.causes('redis').map(({ message }) => message)).toEqual(['an answer took 0.6 s']);
  store.tookMs = 499;
  await write();
  expect(since()).toBeUndefined();
});
