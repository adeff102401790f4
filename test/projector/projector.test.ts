import { afterEach, describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import { parseStoredPosition } from '../../projector/position/settled-position.ts';
import type { AnyRecord, TopicName } from '../../schemas/events/records.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { parseKey, rideKey, riderKey } from '../../schemas/views/view-kinds.ts';
import { fastClock } from '../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../support/stores/memory-event-log.ts';
import { projected, type Running, startProjector } from '../support/stores/projector-run.ts';
import { SharedStore } from '../support/stores/shared-store.ts';
import { dumpViews } from '../support/stores/view-dump.ts';
import { watchedWriter } from '../support/stores/watched-writer.ts';
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

  // docs/rules.md#complete
  it('mends an emptied store, and says that a tag is complete only when its views are there again', async () => {
    const log = new Publishing();
    const records = [log.metro()];
    for (let i = 0; i < 300; i++) records.push(log.rider(`r${i}`), log.ride(`ride${i}`));
    const wanted = await projected(new MemoryViewStore(), { partitions, records });
    expect(wanted.size).toBe(601);
    const store = new SharedStore();
    const short: number[] = [];
    const writer = watchedWriter(store.writer(), {
      after(tag, _writes, { stamp }) {
        const held = (key: string) => store.redis.command(['GET', store.keys.toRedis(key)]) as Buffer | null;
        const isThere = ([key, value]: [string, string]) => held(key)?.toString('latin1') === value;
        if (stamp && ![...wanted].filter(([key]) => parseKey(key).tag === tag).every(isThere)) short.push(tag);
      },
    });
    const { ready } = start(new MemoryEventLog({ partitions, records }), writer, null, { clock: fastClock });
    await ready();
    expect(await dumpViews(store)).toEqual(wanted);
    store.redis.empty();
    expect((await store.reader().ready()).ready).toBe(false);
    await until(async () => (await store.reader().ready()).ready);
    expect(await dumpViews(store)).toEqual(wanted);
    expect(short).toEqual([]);
  });

  // docs/rules.md#position
  it('never stores a position that is past a view not yet written, at its start either', async () => {
    const log = new Publishing();
    const records = Array.from({ length: 2_000 }, (_, i) => log.rider(`r${i}`));
    const eventLog = new MemoryEventLog({ partitions, records }, 200);
    const store = new SharedStore();
    const missing: number[] = [];
    const ridersOf = (text: string): number => parseStoredPosition(text)!.position.riders[0]!;
    const writer = watchedWriter(store.writer(), {
      async after(_tag, _writes, { position }) {
        // Changes come until some positions are stored.
        if (missing.length < 3) {
          const late = log.rider(`r${records.length}`);
          records.push(late);
          eventLog.append(late);
        }
        if (!position || missing.length >= 200) return;
        const before = records.slice(0, ridersOf(position.text)).map(({ key }) => riderKey(key));
        const values = await store.reader().get(before);
        const compared = allTags.filter((tag) => !store.isDoubtful(tag));
        missing.push(values.filter((value, i) => value === null && compared.includes(parseKey(before[i]!).tag)).length);
      },
    });
    const { ready } = start(eventLog, writer, null, { clock: fastClock });
    await ready();
    await until(() =>
      allTags.every(
        (tag) =>
          ridersOf(store.position(tag) ?? '{"position":{"riders":[0]},"sum":"","fanOuts":[]}') === records.length,
      ),
    );
    expect(missing.length).toBeGreaterThan(1);
    expect(missing.filter((count) => count > 0)).toEqual([]);
  });

  it('tries again until it may lead, where the store is away at its start', async () => {
    const log = new Publishing();
    const store = new SharedStore();
    const writer = store.writer();
    const leadership = writer.leadership!;
    let failures = 2;
    const { ready } = start(
      new MemoryEventLog({ partitions, records: [log.metro(), log.ride('ride1')] }),
      {
        ...writer,
        leadership: {
          ...leadership,
          async look(tags) {
            if (failures-- > 0) throw new Error('no connection');
            return leadership.look(tags);
          },
        },
      },
      null,
      { clock: fastClock },
    );
    await ready();
    expect(await there(store, rideKey('ride1'))).toBe(true);
    expect(failures).toBeLessThan(0);
  });

  it('ends with the fault where the store would lose views', async () => {
    const unfit = Object.assign(new Error('evicts'), { retry: false });
    const writer = new SharedStore().writer();
    const leadership = { ...writer.leadership!, look: () => Promise.reject(unfit) };
    const { ended } = start(new MemoryEventLog({ partitions, records: [] }), { ...writer, leadership });
    await expect(ended).rejects.toBe(unfit);
  });
});
