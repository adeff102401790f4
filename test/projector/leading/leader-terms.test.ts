import { expect, it } from 'vitest';
import { redisKeys } from '../../../infra/redis/redis-keys.ts';
import { Folding } from '../../../projector/intake/folding.ts';
import { Leader } from '../../../projector/leading/leader.ts';
import { takeAll } from '../../../projector/leading/standby.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { parseStoredPosition } from '../../../projector/position/settled-position.ts';
import { Status } from '../../../projector/status/status.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { ride } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// Terms over a store that another projector may take, with the scripts that ship.

const keys = redisKeys('');
const loop = keys.of(tagOf('loop'), 'ride', 'loop');
const cafe = keys.of(tagOf('cafe'), 'ride', 'cafe');

const placed = (records: readonly LoggedRecord[]) => {
  const next = new Map<TopicName, number>();
  return records.map(({ topic, key, value }) => {
    const offset = next.get(topic) ?? 0;
    next.set(topic, offset + 1);
    return { topic, partition: 0, offset, timestampMs: 0, key, value };
  });
};

interface Options {
  records?: readonly LoggedRecord[];
  checkEveryMs?: number | null;
  /** What differs of the store. */
  wrap?(writer: ViewWriter): Partial<ViewWriter>;
}

/** A projector that has taken all tags of a store. Its term begins with `lead`. */
async function taking(store: SharedStore, { records = smallWorld.records, checkEveryMs = null, wrap }: Options = {}) {
  const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;
  const eventLog = new MemoryEventLog({ partitions, records: placed(records) });
  const stop = new AbortController();
  const told: string[] = [];
  const note = (message: string) => void told.push(message);
  const written = { views: 0, bytes: 0 };
  const metrics = {
    ...noMetrics,
    written(views: number, bytes: number) {
      written.views += views;
      written.bytes += bytes;
    },
  };
  const log = { info: note, warn: note, error: note };
  const shared = { eventLog, clock: fastClock, log, metrics, signal: stop.signal };
  const following = new AbortController();
  const folding = new Folding(await eventLog.bounds(), null, { ...shared, rejects: null });
  // As a standby: no further than where the leader before it got.
  folding.limit = parseStoredPosition(store.position(0))?.position ?? null;
  const followed = folding.follow(following.signal);
  const plain = store.writer();
  const status = new Status({ ...shared, writer: { ...plain, ...wrap?.(plain) } });
  status.stand('leader');
  const { writer } = status;
  const leadership = writer.leadership!;
  const seen = (await leadership.look(allTags)).map(({ fence }) => fence);
  const taken = (await takeAll(leadership, allTags, seen))!;
  const leader = new Leader({ ...shared, writer, folding, tags: allTags, identity: null, status, checkEveryMs });
  return {
    ...{ stop, status, told, written, eventLog, taken, folding },
    lead: () =>
      leader.lead(taken).finally(async () => {
        following.abort();
        await followed;
      }),
  };
}

type Taking = Awaited<ReturnType<typeof taking>>;

async function ready({ status, lead }: Pick<Taking, 'status' | 'lead'>): Promise<{ end: ReturnType<Taking['lead']> }> {
  const end = lead();
  end.catch(() => {});
  await expect.poll(() => status.ready, { timeout: 60_000, interval: 2 }).toBe(true);
  return { end };
}

/** A store that one term has filled, and left. */
async function left(): Promise<SharedStore> {
  const store = new SharedStore();
  const first = await taking(store);
  const { end } = await ready(first);
  first.stop.abort();
  expect(await end).toBe('stopped');
  return store;
}

const storedAt = (store: SharedStore, key: string): string => String(store.redis.keys.get(key));
const freeTags = (store: SharedStore): number => allTags.filter((tag) => store.isFree(tag)).length;
const doubtfulTags = (store: SharedStore): number => allTags.filter((tag) => store.isDoubtful(tag)).length;

it('a first term writes all views, and leaves every tag free, complete and with its position', async () => {
  const store = new SharedStore();
  const one = await taking(store);
  expect(freeTags(store)).toBe(0);
  const { end } = await ready(one);
  expect(one.told).toContain('Folded up to the log’s ends');
  expect([one.written.views > 10, one.written.bytes > 1_000]).toEqual([true, true]);
  const before = one.written.views;
  one.eventLog.append({ ...placed([ride('loop', { title: 'Another' })])[0]!, offset: 100 });
  await expect.poll(() => storedAt(store, loop), { timeout: 60_000, interval: 2 }).toContain('Another');
  await expect.poll(() => one.written.views, { timeout: 60_000, interval: 2 }).toBeGreaterThan(before);
  one.stop.abort();
  expect(await end).toBe('stopped');
  expect([freeTags(store), doubtfulTags(store)]).toEqual([64, 0]);
  const positions = new Set(allTags.map((tag) => store.position(tag)));
  expect(positions.size).toBe(1);
  expect(JSON.parse([...positions][0]!)).toEqual(expect.objectContaining({}));
});

it('a term that another projector ends leaves the tags to it', async () => {
  const store = new SharedStore();
  const one = await taking(store);
  const { end } = await ready(one);
  const other = store.writer().leadership!;
  const [look] = await other.look([7]);
  expect(await other.take(7, look!.fence, false)).not.toBeNull();
  expect(await end).toBe('fenced');
  expect([freeTags(store), one.status.now(null).tagsInRepair]).toEqual([0, 0]);
});

it('a term ends where the store lost what it held, and what was to be repaired is told until it is', async () => {
  const store = new SharedStore();
  const one = await taking(store);
  const { end } = await ready(one);
  expect(one.status.now(null).unreadableSinceMs).toBeNull();
  store.redis.keys.clear();
  expect(await end).toBe('lost');
  expect(one.status.now(null).unreadableSinceMs).not.toBeNull();
  expect(freeTags(store)).toBe(0);
});

it('a next term compares nothing that was left complete, and writes again what was open', async () => {
  const store = await left();
  const right = storedAt(store, loop);
  for (const key of [loop, cafe]) store.redis.keys.set(key, Buffer.from('x'));
  const open = keys.open(tagOf('loop'));
  const two = await taking(store);
  const odd = { ...two.taken.get(tagOf('loop'))!, open: ['ride:loop', 'ride:never'] };
  const never = keys.of(tagOf('never'), 'ride', 'never');
  store.redis.keys.set(never, Buffer.from('x'));
  (two.taken as Map<number, unknown>).set(tagOf('loop'), odd);
  const { end } = await ready(two);
  expect(two.told.some((line) => line.startsWith('Compared'))).toBe(false);
  expect(two.told).toContain(
    'Leading: the log holds the facts that the views were stored with. To write again: 2 views that may be ahead of the stored position; to compare: 0 tags',
  );
  two.stop.abort();
  expect(await end).toBe('stopped');
  expect([storedAt(store, loop), storedAt(store, cafe)]).toEqual([right, 'x']);
  // Of a ride without facts nothing may stay.
  expect(store.redis.keys.has(never)).toBe(false);
  expect(store.redis.keys.has(open) && store.isDoubtful(tagOf('loop'))).toBe(false);
});

it('a next term compares the tags whose open lists ask for it, and only these', async () => {
  const store = await left();
  const right = storedAt(store, loop);
  for (const key of [loop, cafe]) store.redis.keys.set(key, Buffer.from('x'));
  const two = await taking(store);
  two.taken.get(tagOf('loop'))!.compare = true;
  const { end } = await ready(two);
  expect(two.told).toContain('Compared 1 tag with the facts: 1 view missing or different, and rewritten; 0 tags left');
  expect([storedAt(store, loop), storedAt(store, cafe)]).toEqual([right, 'x']);
  two.stop.abort();
  expect(await end).toBe('stopped');
  expect([freeTags(store), doubtfulTags(store)]).toEqual([64, 0]);
});

it('a change that a term finds between its position and the log’s ends is written, and only that', async () => {
  const store = await left();
  const before = storedAt(store, cafe);
  const two = await taking(store, { records: [...smallWorld.records, ride('loop', { title: 'Another' })] });
  const { end } = await ready(two);
  expect(two.told.some((line) => line.startsWith('Compared'))).toBe(false);
  expect(storedAt(store, loop)).toContain('Another');
  expect(storedAt(store, cafe)).toBe(before);
  two.stop.abort();
  await end;
});

it('a term mends what the background check finds, and looks for nothing where it is off', async () => {
  for (const checkEveryMs of [5_000, null]) {
    const store = await left();
    const two = await taking(store, { checkEveryMs });
    const { end } = await ready(two);
    const views = [...store.redis.keys.keys()].filter((key) => /:(ride|day|night|metro):/.test(key));
    expect(views.length).toBeGreaterThan(3);
    for (const key of views) store.redis.keys.set(key, Buffer.from('x'));
    const areMended = () => views.some((key) => storedAt(store, key) !== 'x');
    if (checkEveryMs) await expect.poll(areMended, { timeout: 60_000, interval: 5 }).toBe(true);
    else await fastClock.sleep(15_000);
    expect(areMended()).toBe(checkEveryMs !== null);
    two.stop.abort();
    expect(await end).toBe('stopped');
  }
});

it('a term that finds no room in the store writes nothing, and frees its tags', async () => {
  const store = new SharedStore();
  const wrap = ({ leadership }: ViewWriter) => ({ leadership: { ...leadership!, room: async () => 10 } });
  const one = await taking(store, { wrap });
  await expect(one.lead()).rejects.toThrow('the view store has room for 1 MB');
  expect([store.redis.keys.has(loop), freeTags(store), one.written.views]).toEqual([false, 64, 0]);
});

it('a term that is told to stop waits two and a half seconds for a store that does not answer, and no longer', async () => {
  for (const isEarly of [true, false]) {
    const store = new SharedStore();
    let hangs = isEarly;
    const commit = (writer: ViewWriter): ViewWriter['commit'] => {
      return (...args) => (hangs ? Promise.reject(new Error('no answer')) : writer.commit(...args));
    };
    const one = await taking(store, { wrap: (writer) => ({ commit: commit(writer) }) });
    if (isEarly) one.stop.abort();
    const { end } = isEarly ? { end: one.lead() } : await ready(one);
    hangs = true;
    one.stop.abort();
    const beganMs = fastClock.nowMs();
    expect(await end).toBe('stopped');
    expect(fastClock.nowMs() - beganMs).toBeLessThan(60_000);
    expect(freeTags(store)).toBe(0);
  }
});
