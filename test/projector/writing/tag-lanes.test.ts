import { describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import type { Log } from '../../../projector/ports/log.ts';
import type { ValueWrite, ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';
import { FencedError, TagLanes } from '../../../projector/writing/tag-lanes.ts';
import { allTags, rideKey, tagOf } from '../../../schemas/views/view-keys.ts';
import { encodeView } from '../../../schemas/views/view-values.ts';
import { SteppingClock } from '../../support/stepping-clock.ts';
import { watchedWriter } from '../../support/watched-writer.ts';

const view = (text: string): Buffer => encodeView({}, null, Buffer.from(text));

/** Ride ids of one tag. */
function idsOf(tag: number, count: number): string[] {
  const ids: string[] = [];
  for (let i = 0; ids.length < count; i++) if (tagOf(`ride${i}`) === tag) ids.push(`ride${i}`);
  return ids;
}
const tag = 5;
const writesOf = (count: number, text = 'x'): ValueWrite[] =>
  idsOf(tag, count).map((id) => ({ kind: 'ride', id, value: view(text) }));

function lanesOver(writer: ViewWriter, signal = new AbortController().signal) {
  const clock = new SteppingClock();
  const lost: number[] = [];
  const said: string[] = [];
  const log: Log = { info: (m) => said.push(m), warn: (m) => said.push(m), error: (m) => said.push(m) };
  const lanes = new TagLanes({ writer, clock, log, signal, onLost: (t) => lost.push(t), onWritten() {} });
  return { lanes, clock, lost, said };
}

async function ledBy(store: MemoryViewStore): Promise<ViewWriter> {
  const writer = store.writer();
  await writer.lead(allTags);
  return writer;
}

describe('tag lanes', () => {
  // docs/rules.md#batch
  it('write batches of at most 200 views and 512 kB, one at a time in a tag, in the order they came', async () => {
    const store = new MemoryViewStore();
    const batches: (readonly ViewWrite[])[] = [];
    let inFlight = 0;
    const writer = watchedWriter(await ledBy(store), {
      async before(_tag, writes) {
        expect(inFlight++).toBe(0);
        batches.push(writes);
        await new Promise((resolve) => setImmediate(resolve));
        inFlight--;
      },
    });
    const { lanes } = lanesOver(writer);
    const writes = [...writesOf(450), ...writesOf(3, 'y'.repeat(300_000)), ...writesOf(1, 'last')];
    for (const write of writes) await lanes.add(tag, write);
    await lanes.drain();
    expect(batches.flat()).toEqual(writes);
    expect(batches.map((batch) => batch.length)).toEqual([200, 200, 52, 2]);
    const [first] = writesOf(1);
    expect(await store.reader().get([rideKey(first!.id)])).toEqual([view('last')]);
  });

  it('divide a rider of many days among batches', async () => {
    const store = new MemoryViewStore();
    const fieldsAtATime: number[] = [];
    const writer = watchedWriter(await ledBy(store), {
      before(_tag, writes) {
        fieldsAtATime.push(writes.reduce((sum, write) => sum + (write.kind === 'reader' ? write.fields.length : 0), 0));
      },
    });
    const { lanes } = lanesOver(writer);
    const fields = Array.from({ length: 450 }, (_, i) => ({ field: `o${i}`, value: `ride=${i % 8}` }));
    await lanes.add(tag, { kind: 'reader', id: 'r1', fields });
    await lanes.drain();
    expect(fieldsAtATime).toEqual([200, 200, 50]);
    const read = await store.reader().fields(
      `${tag}|reader:r1`,
      fields.map(({ field }) => field),
    );
    expect(read.map(String)).toEqual(fields.map(({ value }) => value));
  });

  it('wait for a store that is away, longer each time up to two seconds, and say so once', async () => {
    const store = new MemoryViewStore();
    let failures = 9;
    const writer = watchedWriter(await ledBy(store), {
      before() {
        if (failures-- > 0) throw new Error('no connection');
      },
    });
    const { lanes, clock, said } = lanesOver(writer);
    for (const write of writesOf(2)) await lanes.add(tag, write);
    await lanes.drain();
    expect(clock.slept).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
    expect(said).toEqual(['Cannot write views, trying again: no connection', 'The view store answers again']);
    expect(await store.reader().get(writesOf(2).map(({ id }) => rideKey(id)))).toEqual([view('x'), view('x')]);
  });

  it('give up at once when told to stop, however long the store is away', async () => {
    const stop = new AbortController();
    const writer = watchedWriter(await ledBy(new MemoryViewStore()), {
      before() {
        stop.abort();
        throw new Error('no connection');
      },
    });
    const { lanes, clock } = lanesOver(writer, stop.signal);
    for (const write of writesOf(2)) await lanes.add(tag, write);
    await lanes.drain();
    expect(clock.slept).toEqual([]);
  });

  it('stop with FencedError, and write nothing, once another leads', async () => {
    const store = new MemoryViewStore();
    const { lanes } = lanesOver(await ledBy(store));
    await ledBy(store);
    for (const write of writesOf(1)) await lanes.add(tag, write);
    await expect(lanes.drain()).rejects.toBeInstanceOf(FencedError);
    expect(await store.reader().get(writesOf(1).map(({ id }) => rideKey(id)))).toEqual([null]);
  });

  it('report a tag that was lost, drop its batch, and write again once it is fenced', async () => {
    const store = new MemoryViewStore();
    const { lanes, lost } = lanesOver(await ledBy(store));
    store.empty();
    for (const write of writesOf(1, 'dropped')) await lanes.add(tag, write);
    await lanes.drain();
    expect(lost).toEqual([tag]);
    expect(await store.reader().get(writesOf(1).map(({ id }) => rideKey(id)))).toEqual([null]);
    await lanes.refence(tag);
    for (const write of writesOf(1)) await lanes.add(tag, write);
    await lanes.drain();
    expect(await store.reader().get(writesOf(1).map(({ id }) => rideKey(id)))).toEqual([view('x')]);
  });

  it('beat: a tag without a batch lately gets an empty one, which finds that it was lost', async () => {
    const store = new MemoryViewStore();
    const committed: number[] = [];
    const writer = watchedWriter(await ledBy(store), {
      before: (t) => {
        committed.push(t);
      },
    });
    const { lanes, lost, clock } = lanesOver(writer);
    await lanes.add(tag, writesOf(1)[0]!);
    await lanes.drain();
    committed.length = 0;
    await lanes.beat(allTags, 500);
    expect(committed).toEqual(allTags.filter((t) => t !== tag));
    await clock.sleep(501);
    store.empty();
    await lanes.beat(allTags, 500);
    expect(lost.toSorted((a, b) => a - b)).toEqual(allTags);
  });

  it('make whoever adds wait while many batches are under way, so that memory stays bounded', async () => {
    let added = 0;
    let waitingMost = 0;
    let committed = 0;
    const writer = watchedWriter(await ledBy(new MemoryViewStore()), {
      async before() {
        await new Promise((resolve) => setImmediate(resolve));
        committed += 1;
      },
    });
    const { lanes } = lanesOver(writer);
    // Each is a batch of its own by its size.
    const value = view('z'.repeat(512 * 1024));
    for (let i = 0; i < 300; i++) {
      await lanes.add(tagOf(`ride${i}`), { kind: 'ride', id: `ride${i}`, value });
      waitingMost = Math.max(waitingMost, ++added - committed);
    }
    await lanes.drain();
    expect(committed).toBe(300);
    expect(waitingMost).toBeLessThan(64);
  });
});
