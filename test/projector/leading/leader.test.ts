import { expect, it, vi } from 'vitest';
import { redisKeys } from '../../../infra/redis/redis-keys.ts';
import { Folding } from '../../../projector/intake/folding.ts';
import { Leader } from '../../../projector/leading/leader.ts';
import { Life } from '../../../projector/leading/life.ts';
import { takeAll } from '../../../projector/leading/standby.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { Status } from '../../../projector/status/status.ts';
import { PendingWrites } from '../../../projector/writing/pending-writes.ts';
import { allTags, tagOf } from '../../../schemas/views/view-keys.ts';
import { ride, rider } from '../../reference/example-log.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { logOf, placed } from '../../support/stores/placed-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// Terms over a store that another projector may take, with the scripts that ship.

const keys = redisKeys('');
const loop = keys.of(tagOf('loop'), 'ride', 'loop');

/** A projector that has taken all tags of a store. Its term begins with `lead`. `wrap`: what differs of the store. */
async function taking(store: SharedStore, wrap: (writer: ViewWriter) => Partial<ViewWriter> = () => ({})) {
  const eventLog = logOf(smallWorld.records);
  const { stop, ...quiet } = sharedDeps();
  const written = vi.fn();
  const shared = { ...quiet, eventLog, clock: fastClock, metrics: { ...quiet.metrics, written } };
  const following = new AbortController();
  const folding = new Folding(await eventLog.bounds(), null, { ...shared, rejects: null });
  const followed = folding.follow(following.signal);
  const plain = store.writer();
  const writer = { ...plain, ...wrap(plain) };
  const status = new Status(shared);
  const life = new Life('take', (role) => status.stand(role));
  const steps = vi.spyOn(life, 'to');
  const seen = (await writer.leadership!.look(allTags)).map(({ fence }) => fence);
  const taken = (await takeAll(writer.leadership!, allTags, seen))!;
  const pending = new PendingWrites(folding, status.changes);
  const deps = {
    ...shared,
    writer,
    folding,
    pending,
    tags: allTags,
    identity: null,
    life,
    status,
    checkEveryMs: 1_000,
  };
  const leader = new Leader(taken, deps);
  return {
    steps: () => steps.mock.calls.map(([step]) => step),
    stop,
    status,
    eventLog,
    written,
    said: quiet.lines,
    lead: () =>
      leader.lead().finally(async () => {
        following.abort();
        await followed;
      }),
  };
}

const becomes = (see: () => unknown) => expect.poll(see, { interval: 2 });
const freeTags = (store: SharedStore): number => allTags.filter((tag) => store.isFree(tag)).length;

// docs/rules.md#beginning
it('a next term writes what was open, removes what no fact is about, and compares nothing', async () => {
  const store = new SharedStore();
  const lead = async (records = smallWorld.records) => {
    const one = startProjector(logOf(records), store.writer(), null, { clock: fastClock });
    await expect.poll(() => one.projector.role === 'leader' && one.projector.ready).toBe(true);
    await one.stop();
  };
  await lead();
  const [cafe, never] = ['cafe', 'never'].map((id) => keys.of(tagOf(id), 'ride', id)) as [string, string];
  const right = String(store.redis.keys.get(loop));
  for (const key of [loop, cafe, never]) store.redis.keys.set(key, Buffer.from('x'));
  for (const id of ['loop', 'never']) store.redis.command(['ZADD', keys.open(tagOf(id)), '1', `ride:${id}`]);
  await lead([...smallWorld.records, rider('ada', { handle: 'changed' })]);
  expect([loop, cafe].map((key) => String(store.redis.keys.get(key)))).toEqual([right, 'x']);
  expect(store.redis.keys.has(never)).toBe(false);
  expect(String(store.redis.keys.get(keys.of(tagOf('ada'), 'rider', 'ada')))).toContain('changed');
});

it('a term that finds no room in the store writes nothing, and frees its tags', async () => {
  const store = new SharedStore();
  const wrap = ({ leadership }: ViewWriter) => ({ leadership: { ...leadership!, room: async () => 10 } });
  const one = await taking(store, wrap);
  await expect(one.lead()).rejects.toThrow('the view store has room for 1 MB');
  expect([store.redis.keys.has(loop), freeTags(store), one.steps()]).toEqual([false, 64, ['fold', 'begin', 'free']]);
});

it('a term that is told to stop waits two and a half seconds for a store that does not answer, and no longer', async () => {
  const sleep = vi.spyOn(fastClock, 'sleep');
  for (const isEarly of [true, false]) {
    const store = new SharedStore();
    let hangs = isEarly;
    const one = await taking(store, ({ commit }) => ({
      commit: (...args) => (hangs ? Promise.reject(new Error('no answer')) : commit(...args)),
    }));
    if (isEarly) one.stop.abort();
    const end = one.lead();
    if (!isEarly) await becomes(() => one.status.ready).toBe(true);
    hangs = true;
    one.stop.abort();
    expect(await end).toBe('ended');
    expect(sleep).toHaveBeenCalledWith(2_500, expect.anything());
    sleep.mockClear();
    expect(one.steps()).toEqual(isEarly ? ['fold', 'ended'] : ['fold', 'begin', 'write', 'ended']);
    expect(freeTags(store)).toBe(0);
  }
});

it('a term ends with the log’s own fault, or waits for no log once it is told to stop, and writes nothing', async () => {
  for (const isStopped of [false, true]) {
    const store = new SharedStore();
    const one = await taking(store);
    one.eventLog.bounds = () => {
      if (isStopped) one.stop.abort();
      return Promise.reject(new Error('closed'));
    };
    expect(await one.lead().catch(String)).toBe(isStopped ? 'free' : 'Error: closed');
    expect(one.steps()).toEqual(['fold', isStopped ? 'free' : 'ended']);
    expect([store.redis.keys.has(loop), freeTags(store)]).toEqual([false, isStopped ? 64 : 0]);
  }
});

it.each(['fenced', 'lost'] as const)('a term writes, checks, and ends once its store is %s', async (end) => {
  const store = new SharedStore();
  const one = await taking(store);
  const ended = one.lead();
  await becomes(() => one.status.ready).toBe(true);
  one.eventLog.append({ ...placed([ride('loop', { title: 'Another' })])[0]!, offset: 100 });
  await becomes(() => one.status.readable()?.rides).toEqual([101]);
  expect(String(store.redis.keys.get(loop))).toContain('Another');
  // The views of a batch, and their bytes.
  expect(one.written.mock.calls.some(([views, bytes]) => views > 0 && bytes > 16 * views)).toBe(true);
  expect(one.said).toContain('Read up to the log’s ends');
  for (const tag of allTags) store.redis.keys.set(keys.of(tag, 'ride', 'never'), Buffer.from('x'));
  await becomes(() => one.said.join()).toContain('of the view store was not as written');
  const { leadership } = store.writer();
  if (end === 'lost') store.redis.keys.clear();
  else await leadership!.take(7, (await leadership!.look([7]))[0]!.fence, false);
  expect([await ended, one.steps()]).toEqual([end, ['fold', 'begin', 'write', end]]);
  expect(one.status.now(null).unreadableSinceMs !== null).toBe(end === 'lost');
});
