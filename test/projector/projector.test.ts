import { afterEach, describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { parseKey, rideKey, riderKey } from '../../schemas/views/view-kinds.ts';
import { MemoryEventLog } from '../support/stores/memory-event-log.ts';
import { type Running, startProjector } from '../support/stores/projector-run.ts';
import { SharedStore } from '../support/stores/shared-store.ts';
import { dumpViews } from '../support/stores/view-dump.ts';
import type { HistoryRecord } from '../support/worlds/histories.ts';
import { sampleRecords } from '../support/worlds/records.ts';

const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;

/** Records with their offsets, one partition a topic. */
class Publishing {
  readonly #offsets = new Map<TopicName, number>();

  next(topic: TopicName, key: string, value: AnyRecord | null): HistoryRecord {
    const offset = this.#offsets.get(topic) ?? 0;
    this.#offsets.set(topic, offset + 1);
    return { topic, partition: 0, offset, timestampMs: 0, key, value };
  }

  rider(id: string): HistoryRecord {
    return this.next('riders', id, { ...sampleRecords.riders, rider: id, handle: id });
  }

  ride(id: string): HistoryRecord {
    return this.next('rides', id, { ...sampleRecords.rides, ride: id, metro: 'portland', posted: true });
  }

  metro(): HistoryRecord {
    return this.next('metros', 'portland', { ...sampleRecords.metros, metro: 'portland', time_zone: 'UTC' });
  }
}

const running: Running[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop().catch(() => {});
});
function start(...args: Parameters<typeof startProjector>): Running {
  const started = startProjector(...args);
  running.push(started);
  return started;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; !(await condition()); i++) {
    if (i > 2_000) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const there = async (store: Pick<SharedStore, 'reader'>, key: string): Promise<boolean> =>
  (await store.reader().get([key]))[0] !== null;

describe('a projector', () => {
  // docs/rules.md#ready-projector
  it('is ready once its views stand at the ends sampled at its start, and writes none before', async () => {
    const log = new Publishing();
    const eventLog = new MemoryEventLog({ partitions, records: [log.metro(), log.rider('r1'), log.ride('ride1')] });
    eventLog.reveal(2);
    const store = new MemoryViewStore();
    const { projector, ready } = start(eventLog, store.writer());
    await until(() => projector.facts.riders.length === 1);
    expect(projector.ready).toBe(false);
    expect(await dumpViews(store)).toEqual(new Map());
    eventLog.reveal(3);
    await ready();
    expect([...(await dumpViews(store)).keys()].map((key) => parseKey(key).kind).sort()).toEqual([
      'metro',
      'ride',
      'rider',
    ]);
    expect((await store.reader().ready()).ready).toBe(true);
  });

  // docs/rules.md#schema-registry
  it('does not wait at its start for a partition that itself waits for a schema registry', async () => {
    const log = new Publishing();
    const eventLog = new MemoryEventLog({ partitions, records: [log.metro(), log.rider('r1'), log.ride('ride1')] });
    eventLog.reveal(2);
    const store = new MemoryViewStore();
    const { projector, ready } = start(eventLog, store.writer());
    await until(() => projector.facts.riders.length === 1);
    eventLog.setWaiting('rides', 0, true);
    await ready();
    expect(await there(store, riderKey('r1'))).toBe(true);
    eventLog.setWaiting('rides', 0, false);
    eventLog.reveal(3);
    await until(() => there(store, rideKey('ride1')));
  });

  it('ends with the fault where the store would lose views', async () => {
    const unfit = Object.assign(new Error('evicts'), { retry: false });
    const writer = new SharedStore().writer();
    const leadership = { ...writer.leadership!, look: () => Promise.reject(unfit) };
    const { ended } = start(new MemoryEventLog({ partitions, records: [] }), { ...writer, leadership });
    await expect(ended).rejects.toBe(unfit);
  });
});
