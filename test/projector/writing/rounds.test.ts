import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import type { ViewWrite } from '../../../projector/ports/view-writer.ts';
import { parseStoredPosition } from '../../../projector/position/settled-position.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import { dayText } from '../../../schemas/views/days.ts';
import { readerKey } from '../../../schemas/views/reader-fields.ts';
import { nightKey } from '../../../schemas/views/view-kinds.ts';
import { projecting } from '../../support/processes/service.ts';
import { goingOf } from '../../support/stores/view-names.ts';
import { watchedWriter } from '../../support/stores/watched-writer.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

const day = 20_000;
const ride = 'loop1';
const { riders, relations, attendance, metros, rides, nights } = sampleRecords;

/** A projector whose every commit the test looks at, and records that are folded one by one. */
async function world(before: (tag: number, writes: readonly ViewWrite[]) => void = () => {}, fanOut = {}) {
  const store = new MemoryViewStore();
  const projector = await projecting(watchedWriter(store.writer(), { before }), fanOut);
  const offsets = new Map<TopicName, number>();
  const publish = async (topic: TopicName, key: string, value: AnyRecord | null): Promise<number> => {
    const offset = offsets.get(topic) ?? 0;
    offsets.set(topic, offset + 1);
    const record = toLogRecord({ topic, partition: 0, offset, timestampMs: 0, key, value });
    await projector.take({ topic, partition: 0, records: [record], nextOffset: offset + 1 });
    return offset;
  };
  return {
    store,
    ...projector,
    rider: (id: string) => publish('riders', id, { ...riders, rider: id, handle: id, name: null }),
    follow: (reader: string, other: string) =>
      publish('relations', `${reader}/${other}`, {
        ...relations,
        rider: reader,
        other,
        follows: true,
        close: false,
        flagged: false,
        blocked: false,
      }),
    unfollow: (reader: string, other: string) => publish('relations', `${reader}/${other}`, null),
    respond: (rider: string, response: 'NONE' | 'GOING', nightOf = ride) =>
      publish('attendance', `${nightOf}/${dayText(day)}/${rider}`, {
        ...attendance,
        ride: nightOf,
        day,
        rider,
        response,
        saved: false,
      }),
    async ride(id: string) {
      await publish('metros', 'portland', { ...metros, metro: 'portland', time_zone: 'America/Los_Angeles' });
      await publish('rides', id, { ...rides, ride: id, metro: 'portland', posted: true });
      await publish('nights', `${id}/${dayText(day)}`, { ...nights, ride: id, day });
    },
  };
}

const readersOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `reader${i}`);

async function readersWhoSee(store: MemoryViewStore, readers: readonly string[], star: string): Promise<number> {
  const reader = store.reader();
  let count = 0;
  for (const id of readers) {
    const [value] = await reader.fields(readerKey(id), [`f${dayText(day)}`]);
    if (value && goingOf(value).some(({ rider }) => rider === star)) count += 1;
  }
  return count;
}

describe('a round', () => {
  it('writes each view once, however many changes touched it', async () => {
    const written = new Map<string, number>();
    const w = await world((_tag, writes) => {
      for (const { kind, id } of writes) written.set(`${kind} ${id}`, (written.get(`${kind} ${id}`) ?? 0) + 1);
    });
    await w.ride(ride);
    for (let i = 0; i < 10_000; i++) {
      await w.rider(`rider${i % 500}`);
      await w.respond(`rider${i % 500}`, i % 3 === 0 ? 'NONE' : 'GOING');
    }
    await w.rounds.run(w.position);
    expect(written.get(`night ${ride}/${dayText(day)}`)).toBe(1);
  });
});

describe('a change of a rider whom many read about', () => {
  const readers = readersOf(2_500);

  async function famous(before: (tag: number, writes: readonly ViewWrite[]) => void = () => {}) {
    const w = await world(before, { inlineMax: 64, slice: 1_000 });
    await w.ride(ride);
    await w.ride('other1');
    for (const id of ['star', 'someone', ...readers]) await w.rider(id);
    for (const id of readers) await w.follow(id, 'star');
    await w.settle();
    return w;
  }

  it('is written slice by slice, while changes of others go first', async () => {
    const w = await famous();
    await w.respond('star', 'GOING');
    await w.rounds.run(w.position);
    expect(await readersWhoSee(w.store, readers, 'star')).toBe(1_000);
    await w.respond('someone', 'GOING', 'other1');
    await w.rounds.run(w.position);
    const [night] = await w.store.reader().get([nightKey('other1', dayText(day))]);
    expect(night!.toString()).toContain('"going_count":1');
    expect(await readersWhoSee(w.store, readers, 'star')).toBe(2_000);
    expect(w.rounds.idle).toBe(false);
    await w.rounds.run(w.position);
    expect(await readersWhoSee(w.store, readers, 'star')).toBe(2_500);
    expect(w.rounds.idle).toBe(true);
  });

  // docs/rules.md#position
  it('goes with the position until the last reader’s view is written, however much goes on', async () => {
    const w = await famous();
    const rsvp = await w.respond('star', 'GOING');
    let withFanOut = 0;
    for (let round = 0; !w.rounds.idle || round < 12; round++) {
      // Others answer all the while, and so the position moves on.
      if (round < 12) await w.respond('someone', round % 2 ? 'GOING' : 'NONE', 'other1');
      await w.rounds.run(w.position);
      const { position, fanOuts } = parseStoredPosition(w.lanes.settled!.text)!;
      expect(position.attendance[0]).toBeGreaterThan(rsvp);
      if (fanOuts.length > 0) withFanOut++;
      expect(fanOuts).toEqual(
        (await readersWhoSee(w.store, readers, 'star')) < readers.length ? [['star', [day]]] : [],
      );
    }
    expect(withFanOut).toBeGreaterThan(0);
  });

  // docs/rules.md#position
  it('begins again from the position that was stored in the middle of it, and reaches every reader', async () => {
    const w = await famous();
    await w.respond('star', 'GOING');
    await w.rounds.run(w.position);
    const { fanOuts } = parseStoredPosition(w.lanes.settled!.text)!;
    // The next term knows of it by what is stored alone.
    w.pending.end();
    w.pending.begin();
    expect(w.rounds.idle).toBe(true);
    expect(w.pending.takeOn([], [...fanOuts, ['unknown rider', [day]]])).toEqual([]);
    await w.settle();
    expect(await readersWhoSee(w.store, readers, 'star')).toBe(2_500);
  });

  it('is not readable until the last reader’s view is written; changes that fewer read about are, with the round', async () => {
    const w = await famous();
    const round = async (): Promise<number | null> => {
      const begun = w.changes.begin();
      await w.rounds.run(w.position);
      w.changes.written(begun, w.pending.fanOuts.told);
      return w.changes.sinceMs;
    };
    expect(await round()).toBeNull();
    await w.respond('star', 'GOING');
    expect(await round()).not.toBeNull();
    await w.respond('someone', 'GOING', 'other1');
    // Amid the readers, so all of them are told of this one after the first.
    await w.respond('star', 'NONE');
    expect(w.changes.begin()).toBe(3);
    expect(await round()).not.toBeNull();
    expect(w.changes.begin()).toBe(2);
    await round();
    expect(w.changes.begin()).toBe(1);
    for (let i = 0; i < 2; i++) expect(await round()).not.toBeNull();
    expect(await round()).toBeNull();
  });

  it('keeps the position back where too many riders change to be stored beside it', async () => {
    const w = await world(() => {}, { inlineMax: 0, slice: 1 });
    await w.ride(ride);
    await w.rider('reader');
    for (let i = 0; i <= 1_000; i++) {
      await w.rider(`rider${i}`);
      await w.follow('reader', `rider${i}`);
    }
    await w.settle();
    const { position: before } = parseStoredPosition(w.lanes.settled!.text)!;
    for (let i = 0; i <= 1_000; i++) await w.respond(`rider${i}`, 'GOING');
    await w.rounds.run(w.position);
    // The first of them is told already.
    await w.respond('rider0', 'NONE');
    await w.rounds.run(w.position);
    const kept = parseStoredPosition(w.lanes.settled!.text)!;
    expect([kept.position, kept.fanOuts.length]).toEqual([before, 0]);
    await w.settle();
    expect(parseStoredPosition(w.lanes.settled!.text)!.position).toEqual(w.position);
  });

  it('leaves no old word with those who stop reading about them before their turn', async () => {
    const w = await famous();
    await w.respond('star', 'GOING');
    await w.settle();
    await w.respond('star', 'NONE');
    await w.rounds.run(w.position);
    for (const id of readers) await w.unfollow(id, 'star');
    await w.settle();
    expect(await readersWhoSee(w.store, readers, 'star')).toBe(0);
  });
});
