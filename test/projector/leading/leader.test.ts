import { expect, it, vi } from 'vitest';
import { redisKeys } from '../../../infra/redis/redis-keys.ts';
import { Folding } from '../../../projector/intake/folding.ts';
import { Leader } from '../../../projector/leading/leader.ts';
import { Life } from '../../../projector/leading/life.ts';
import { takeAll } from '../../../projector/leading/standby.ts';
import type { LogBounds } from '../../../projector/ports/event-log.ts';
import { noMetrics } from '../../../projector/ports/metrics.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { parseStoredPosition } from '../../../projector/position/settled-position.ts';
import { Status } from '../../../projector/status/status.ts';
import { PendingWrites } from '../../../projector/writing/pending-writes.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { rider } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { logOf } from '../../support/stores/placed-log.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// Terms over a store that another projector may take, with the scripts that ship.

const keys = redisKeys('');
const loop = keys.of(tagOf('loop'), 'ride', 'loop');
const cafe = keys.of(tagOf('cafe'), 'ride', 'cafe');

interface Options {
  records?: readonly LoggedRecord[];
  /** What the log says of its ends, instead of what it holds. */
  bounds?(stop: AbortController): Promise<LogBounds>;
  /** What differs of the store. */
  wrap?(writer: ViewWriter): Partial<ViewWriter>;
}

/** A projector that has taken all tags of a store. Its term begins with `lead`. */
async function taking(store: SharedStore, { records = smallWorld.records, bounds, wrap }: Options = {}) {
  const eventLog = logOf(records);
  const stop = new AbortController();
  const told: string[] = [];
  const note = (message: string) => void told.push(message);
  const written: [views: number, bytes: number][] = [];
  const metrics = { ...noMetrics, written: (...of: [number, number]) => void written.push(of) };
  const shared = {
    eventLog,
    clock: fastClock,
    log: { info: note, warn: note, error: note },
    metrics,
    signal: stop.signal,
  };
  const following = new AbortController();
  const folding = new Folding(await eventLog.bounds(), null, { ...shared, rejects: null });
  // As a standby: no further than where the leader before it got.
  folding.limit = parseStoredPosition(store.position(0))?.position ?? null;
  const followed = folding.follow(following.signal);
  const plain = store.writer();
  const status = new Status(shared);
  const life = new Life('take', (role) => status.stand(role));
  const steps = vi.spyOn(life, 'to');
  const writer = { ...plain, ...wrap?.(plain) };
  const leadership = writer.leadership!;
  const seen = (await leadership.look(allTags)).map(({ fence }) => fence);
  const taken = (await takeAll(leadership, allTags, seen))!;
  if (bounds) eventLog.bounds = () => bounds(stop);
  const pending = new PendingWrites(folding, status.changes);
  const deps = { ...shared, writer, folding, pending, tags: allTags, identity: null, life, status, checkEveryMs: null };
  const leader = new Leader(taken, deps);
  return {
    steps: () => steps.mock.calls.map(([step]) => step),
    stop,
    status,
    told,
    written,
    eventLog,
    taken,
    lead: () =>
      leader.lead().finally(async () => {
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
  expect(await end).toBe('free');
  return store;
}

const storedAt = (store: SharedStore, key: string): string => String(store.redis.keys.get(key));
const freeTags = (store: SharedStore): number => allTags.filter((tag) => store.isFree(tag)).length;
const doubtfulTags = (store: SharedStore): number => allTags.filter((tag) => store.isDoubtful(tag)).length;

it('a next term writes what was open and what changed since, and compares the tags that ask for it and no other', async () => {
  for (const compare of [false, true]) {
    const store = await left();
    const right = storedAt(store, loop);
    const never = keys.of(tagOf('never'), 'ride', 'never');
    for (const key of [loop, cafe, never]) store.redis.keys.set(key, Buffer.from('x'));
    const two = await taking(store, { records: [...smallWorld.records, rider('ada', { handle: 'changed' })] });
    const open = compare ? [] : ['ride:loop', 'ride:never'];
    Object.assign(two.taken.get(tagOf('loop'))!, { open, compare });
    const { end } = await ready(two);
    const again = `To write again: ${open.length} views that may be ahead of the stored position; to compare: ${compare ? 1 : 0} part`;
    expect(two.told.find((line) => line.startsWith('Leading'))).toContain(again);
    expect(two.told.filter((line) => line.startsWith('Compared'))).toEqual(
      compare
        ? ['Compared 1 part of the store with the log: 1 view missing or different, and rewritten; 0 parts left']
        : [],
    );
    two.stop.abort();
    expect(await end).toBe('free');
    expect([storedAt(store, loop), storedAt(store, cafe)]).toEqual([right, 'x']);
    expect(storedAt(store, keys.of(tagOf('ada'), 'rider', 'ada'))).toContain('changed');
    // Of a ride without facts nothing may stay.
    expect(store.redis.keys.has(never)).toBe(compare);
    expect([freeTags(store), doubtfulTags(store)]).toEqual([64, 0]);
  }
});

it('a term that finds no room in the store writes nothing, and frees its tags', async () => {
  const store = new SharedStore();
  const wrap = ({ leadership }: ViewWriter) => ({ leadership: { ...leadership!, room: async () => 10 } });
  const one = await taking(store, { wrap });
  await expect(one.lead()).rejects.toThrow('the view store has room for 1 MB');
  expect([store.redis.keys.has(loop), freeTags(store), one.steps()]).toEqual([false, 64, ['fold', 'begin', 'free']]);
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
    expect(await end).toBe('ended');
    expect(one.steps()).toEqual(isEarly ? ['fold', 'ended'] : ['fold', 'begin', 'write', 'ended']);
    expect(fastClock.nowMs() - beganMs).toBeLessThan(60_000);
    expect(freeTags(store)).toBe(0);
  }
});

it('a term ends with the log’s own fault, or waits for no log once it is told to stop, and writes nothing', async () => {
  const fault = await taking(new SharedStore(), { bounds: () => Promise.reject(new Error('no such topic')) });
  await expect(fault.lead()).rejects.toThrow('no such topic');
  expect(fault.steps()).toEqual(['fold', 'ended']);
  const never = await taking(new SharedStore(), { bounds: () => new Promise(() => {}) });
  const end = never.lead();
  never.stop.abort();
  const bounds = (stop: AbortController) => {
    stop.abort();
    return Promise.reject(new Error('connection closed'));
  };
  const late = await taking(new SharedStore(), { bounds });
  expect([await end, await late.lead()]).toEqual(['free', 'free']);
  for (const { written } of [fault, never, late]) expect(written.every(([views]) => views === 0)).toBe(true);
});
