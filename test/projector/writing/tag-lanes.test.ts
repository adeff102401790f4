import { describe, expect, it } from 'vitest';
import { beatMs, takeOverMsMin } from '../../../projector/ports/leading.ts';
import type { TagNotes, ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import { TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { turns } from '../../support/stores/event-loop-turns.ts';
import { lead } from '../../support/stores/lead.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';

const tags = [3, 4, 5];
const tag = 5;
const settledAt = (round: number) => ({ start: { round, position: positionAt(), sum: '' }, text: `to ${round}` });
const noteOf = (round: number) => ({ position: { text: `to ${round}`, round } });

/** Lanes of three tags in round 7 that their leader has taken, and what is sent and told. `gate`: what a batch meets on its way. */
async function scene() {
  const { clock, signal } = sharedDeps();
  const store = new SharedStore();
  const { commit: plain, list, read, leadership, close } = store.writer();
  const sent: { tag: number; writes: readonly ViewWrite[]; notes: TagNotes | undefined }[] = [];
  const told: unknown[][] = [];
  const way = { gate: async (_tag: number): Promise<void> => {}, inFlight: 0 };
  const commit: ViewWriter['commit'] = async (of, writes, notes) => {
    sent.push({ tag: of, writes, notes });
    await way.gate(of);
    return plain(of, writes, notes);
  };
  const writer: ViewWriter = { commit, beat: null, list, read, leadership, close };
  await lead(writer, tags);
  const onWritten = (...of: unknown[]) => void told.push(['written', ...of]);
  const onCompare = (of: number) => void told.push(['compare', of]);
  const lanes = new TagLanes({ writer, clock, tags, signal, onWritten, onCompare });
  lanes.round = 7;
  const lane = lanes.lane(tag);
  /** What the next batches of a tag say beside their views, which are none. */
  const next = async () => {
    await lanes.processesSeen([tag]);
    await lanes.ended();
    return sent.splice(0).flatMap((batch) => (batch.tag === tag ? [{ ...batch.notes, stamp: undefined }] : []));
  };
  return { clock, store, sent, told, way, lanes, lane, next };
}

const ride = (id: string, value: string | null = 'x'): ViewWrite =>
  ({ kind: 'ride', id, value: value && Buffer.from(value) }) as ViewWrite;
const reader = (id: string, count: number, value: string | null = 'x', more = {}): ViewWrite => {
  const fields = Array.from({ length: count }, (_, i) => ({ field: `f${i}`, value }));
  return { kind: 'reader', id, fields, ...more };
};

// docs/rules.md#batch
describe('batches', () => {
  it.each<[ViewWrite, number]>([
    [ride('r'), 200],
    [reader('r', 50), 10],
    [ride('r'.repeat(4_096), null), 128],
    [reader('r'.repeat(4_094), 1, null), 128],
    [reader('r', 1, 'x'.repeat(4_093)), 128],
  ])('are full with 200 keys, with 500 fields, or with 512 kB of names and values (%#)', async (write, count) => {
    const { lane } = await scene();
    const sent = Array.from({ length: count }, () => lane.add(write));
    expect([sent.indexOf(true), lane.queued]).toEqual([count - 1, 1]);
  });

  it('are written one at a time in a tag, in the order they came, and their views and bytes are counted', async () => {
    const { lanes, sent, told, way } = await scene();
    way.gate = async () => {
      expect(way.inFlight++).toBe(0);
      await turns(1);
      way.inFlight--;
    };
    const rides = Array.from({ length: 200 }, (_, i) => ride(`r${i}`));
    const writes = [...rides, ride('loop', null), reader('ada', 3, null)];
    for (const write of writes) await lanes.add(tag, write);
    lanes.flush();
    expect(await lanes.drain()).toBe(true);
    expect(sent.flatMap((batch) => batch.writes)).toEqual(writes);
    expect(sent[1]).toEqual({ tag, writes: writes.slice(200), notes: { round: 7 } });
    const bytes = rides.reduce((sum, { id }) => sum + id.length + 1, 0);
    expect(told).toEqual([
      ['written', 200, bytes],
      ['written', 4, 4 + 3 + 6],
    ]);
    expect(lanes.bytesWritten).toBe(bytes + 13);
  });

  it('have at most 500 fields, but for the parts of a hash that is replaced, of which the first replaces it', async () => {
    const { lanes, sent } = await scene();
    await lanes.add(3, reader('ada', 1_000, 'x', { replaces: true }));
    await lanes.add(4, reader('ada', 500, 'x', { replaces: true }));
    await lanes.add(5, reader('ada', 501));
    expect(await lanes.drain()).toBe(true);
    const shapes = sent.map(({ writes }) =>
      writes.map((write) => 'fields' in write && [write.fields.length, write.replaces ?? false]),
    );
    const parts = [500, 500].map((fields, i) => [fields, i === 0]);
    expect(shapes).toEqual([parts, [[500, true]], [[500, false]], [[1, false]]]);
  });

  it('that are under way hold back whoever adds from the 8th on, even of one tag', async () => {
    const { lanes, way } = await scene();
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    way.gate = () => held;
    let added = 0;
    const adding = (async () => {
      // A batch is full with the second of these.
      for (; added < 20; added++) await lanes.add(tag, ride('loop', 'y'.repeat(300_000)));
    })();
    await turns(20);
    expect(added).toBe(2 * 8 - 1);
    expect(await Promise.race([lanes.ended().then(() => 'ended'), turns(20).then(() => 'in flight')])).toBe(
      'in flight',
    );
    release();
    await adding;
    expect(await lanes.drain()).toBe(true);
  });
});

// docs/rules.md#position
it('beside its views, a batch names its round, and carries a position once, each at most every 250 ms but for the last', async () => {
  const { lanes, clock, store, way, next } = await scene();
  const said = async () => (await next()).at(-1);
  expect(await said()).toEqual({ round: 7 });
  lanes.settled = settledAt(3);
  let failures = 1;
  way.gate = async (of) => {
    if (of === tag && failures-- > 0) throw new Error('no connection');
  };
  // What was not written is carried again.
  expect((await next()).slice(0, 2)).toEqual([1, 2].map(() => ({ round: 7, ...noteOf(3) })));
  lanes.settled = settledAt(4);
  await clock.sleep(249);
  expect(await said()).toEqual({ round: 7 });
  await clock.sleep(1);
  expect((await next())[0]).toEqual({ round: 7, ...noteOf(4) });
  lanes.settled = settledAt(5);
  expect(await lanes.leave()).toBe(true);
  expect([lanes.leaving, store.position(tag)]).toEqual([true, 'to 5']);
});

// docs/rules.md#complete
it('a tag in doubt says so, and has no round, till all is compared; that is over with a later position, and no news before', async () => {
  const { lanes, lane, told, store, clock, next } = await scene();
  const settle = async (round: number) => {
    await clock.sleep(250);
    lanes.settled = settledAt(round);
    return (await next())[0];
  };
  lane.beginCompare(false);
  expect(await next()).toEqual([{ compare: 'begin' }, {}]);
  expect([lane.comparing, store.isDoubtful(tag)]).toEqual([true, true]);
  expect(await settle(6)).toEqual(noteOf(6));
  lane.endCompare();
  expect(await settle(7)).toEqual({ round: 7, ...noteOf(7) });
  expect(store.isDoubtful(tag)).toBe(true);
  expect(await settle(8)).toEqual({ round: 7, ...noteOf(8), compare: 'end' });
  expect([store.isDoubtful(tag), told.filter(([what]) => what === 'compare')]).toEqual([false, []]);
  await store.live().askCompare([tag]);
  await next();
  expect(told).toContainEqual(['compare', tag]);
});

describe('lanes', () => {
  // P17, P44
  it('wait for a tag that is away, longer each time up to a second, while the others and their beats flow on', async () => {
    const { lanes, lane, clock, sent, way } = await scene();
    let failures = 9;
    way.gate = async (of) => {
      if (of !== tag || failures-- <= 0) return;
      await turns(1);
      throw new Error('this master is away');
    };
    for (const of of tags) await lanes.add(of, ride('loop'));
    for (let i = 0; i < 16; i++) await lanes.add(tag, ride('loop', 'y'.repeat(300_000)));
    expect([await lanes.drain(), lane.away, lane.queued]).toEqual([false, true, 8]);
    await lanes.add(3, ride('cafe'));
    await lanes.written([3, 4]);
    expect(sent).toContainEqual(expect.objectContaining({ tag: 3, writes: [ride('cafe')] }));
    lanes.beat();
    await turns(2);
    expect(sent.filter((batch) => batch.tag === 3).length).toBeGreaterThan(1);
    await lanes.written([tag]);
    expect([lane.away, lane.queued, await lanes.drain()]).toEqual([false, 0, true]);
    expect(clock.slept).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000, 1_000]);
  });

  it('wait for no beat: a store whose answers take longer than a beat is due only delays', async () => {
    const { lanes, sent, way } = await scene();
    let beats = 0;
    // The next beat is due before each answer.
    way.gate = async (of) => {
      await turns(1);
      if (of === tag && ++beats < 200) lanes.beat();
    };
    lanes.beat();
    await lanes.add(tag, ride('r'));
    expect([await lanes.drain(), await lanes.leave()]).toEqual([true, true]);
    expect(sent.flatMap(({ writes }) => writes)).toEqual([ride('r')]);
    expect(beats).toBeLessThan(20);
    // No fence moves any more.
    await lanes.ended();
    const { length } = sent;
    lanes.beat();
    await turns(20);
    expect(sent).toHaveLength(length);
  });

  // P42
  it('stamp a process of the store only once every tag, asked since it was noticed, is as it was left', async () => {
    const { lanes, clock, store, way } = await scene();
    const stamped = async () => {
      for (let i = 0; i < 3; i++) {
        lanes.beat();
        await turns(20);
        // Each answer says that nobody else has led till then.
        await clock.sleep(beatMs);
      }
      const stamps = tags.map((of) => String(store.redis.keys.get(store.keys.complete(of)) ?? ''));
      // A batch that is no beat changes nothing of it.
      lanes.lane(3).ping();
      await turns(20);
      const { length } = stamps.filter((stamp) => stamp === store.redis.process);
      expect(lanes.isComplete).toBe(length === tags.length);
      return length;
    };
    // The views do not stand at the ends yet.
    expect(await stamped()).toBe(0);
    await clock.sleep(takeOverMsMin - beatMs);
    store.restart('a');
    expect(await stamped()).toBe(0);
    lanes.beginStamping(1);
    expect(await stamped()).toBe(3);
    const { promise: answers, resolve: answer } = Promise.withResolvers<void>();
    way.gate = (of) => (of === tag ? answers : Promise.resolve());
    // Too short a time for another one to have led.
    await clock.sleep(takeOverMsMin - 2 * beatMs);
    store.restart('b');
    expect(await stamped()).toBe(0);
    answer();
    expect(await stamped()).toBe(3);
    // An answer that takes long says who led when it was asked for. Another may have led since, and the store be a copy from
    // before that.
    const { promise: answered, resolve: answerLate } = Promise.withResolvers<void>();
    way.gate = () => answered;
    lanes.beat();
    await clock.sleep(takeOverMsMin);
    answerLate();
    await turns(20);
    store.restart('c');
    expect(await stamped()).toBe(0);
    lanes.beginStamping(1);
    expect(await stamped()).toBe(0);
    lanes.beginStamping(2);
    expect(await stamped()).toBe(3);
    lanes.lane(3).beginCompare(false);
    expect(lanes.isComplete).toBe(false);
  });

  it.each(['fenced', 'lost'] as const)('say why they are refused, and write nothing more: %s', async (reason) => {
    const { lanes, sent, store } = await scene();
    if (reason === 'lost') store.redis.keys.clear();
    else await lead(store.writer(), tags);
    await expect(lanes.run()).rejects.toThrow(reason);
    // The first reason stays.
    lanes.refused(reason === 'lost' ? 'fenced' : 'lost');
    expect([lanes.refusal, lanes.signal.aborted]).toEqual([reason, true]);
    const { length } = sent;
    await expect(lanes.written([3])).rejects.toMatchObject({ name: 'RefusedError', retry: false });
    await expect(lanes.add(tag, ride('loop'))).rejects.toThrow('Cannot write views');
    await expect(lanes.drain()).rejects.toThrow('Cannot write views');
    expect(sent).toHaveLength(length);
  });
});
