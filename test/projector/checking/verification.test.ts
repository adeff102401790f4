import { expect, it } from 'vitest';
import { Verification, type Verified } from '../../../projector/checking/verification.ts';
import type { LiveNotes, LiveViews } from '../../../projector/ports/live-views.ts';
import { positionOf } from '../../../projector/position/position.ts';
import { realClock } from '../../../projector/running/clock.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { allTags, tagOf, viewFormat } from '../../../schemas/views/view-keys.ts';
import { ride } from '../../reference/example-log.ts';
import { Hash } from '../../simulator/redis-commands.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { logOf, placed } from '../../support/stores/placed-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { sharedDeps } from '../../support/stores/shared-deps.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { SteppingClock } from '../../support/stores/stepping-clock.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// P46, on a Redis in memory.

/** A store that a projector has filled. It leads until it is told to stop. */
async function filled() {
  const store = new SharedStore();
  const running = startProjector(logOf(smallWorld.records), store.writer(), null, { clock: fastClock });
  await running.ready();
  return { store, running };
}

async function left(): Promise<SharedStore> {
  const { store, running } = await filled();
  await running.stop();
  return store;
}

const verification = (store: SharedStore, more: object): Verification =>
  new Verification({
    ...sharedDeps(),
    eventLog: logOf(smallWorld.records),
    live: store.live(),
    clock: fastClock,
    ...more,
  });

async function verify(store: SharedStore, more = {}): Promise<Verified> {
  const one = verification(store, more);
  return one.run().finally(() => one.end());
}

/** What a store's tags say, but for some of it. */
const notesBut = (store: SharedStore, change: (tag: number) => Partial<LiveNotes>): { live: LiveViews } => {
  const live = store.live();
  const notes: LiveViews['notes'] = async (tags) =>
    (await live.notes(tags)).map((one, i) => ({ ...one, ...change(tags[i]!) }));
  return { live: { ...live, notes } };
};

const spelled = (store: SharedStore, { found }: Pick<Verified, 'found'>): string[] =>
  found
    .flatMap(({ differences }) => differences)
    .map(({ what, name, field = '' }) => `${what} ${store.live().spell(name)} ${field}`.trimEnd());

const keyOf = ({ keys }: SharedStore, kind: 'ride' | 'reader' | 'rider', id: string): string =>
  keys.of(tagOf(id), kind, id);

it('verify names any one thing that is changed in the store, and nothing else', async () => {
  const store = await left();
  const loop = keyOf(store, 'ride', 'loop');
  const ada = keyOf(store, 'reader', 'ada');
  const before = new Map(store.redis.keys);
  const [bytes, hash] = [before.get(loop) as Buffer, before.get(ada) as Hash];
  const [field] = [...hash.keys()] as [string];
  const moved = loop.replace(/\{v\d+\}/, `{v${(tagOf('loop') + 1) % 64}}`);
  const [odd, strange, x] = [`g${viewFormat}:junk`, keyOf(store, 'reader', 'strange'), Buffer.from('x')];
  const without = new Hash([...hash].slice(1));
  const bo = keyOf(store, 'reader', 'bo');
  const damages: Record<string, [string, Buffer | Hash | 'set' | null]> = {
    [`different ${loop}`]: [loop, Buffer.concat([bytes, x])],
    [`missing ${loop}`]: [loop, null],
    [`wrong type ${loop}`]: [loop, 'set'],
    [`extra ${loop}~`]: [`${loop}~`, x],
    [`extra ${moved}`]: [moved, bytes],
    [`extra ${odd}`]: [odd, x],
    [`missing ${ada} ${field}`]: [ada, without],
    [`different ${ada} ${field}`]: [ada, new Hash([[field, x], ...without])],
    [`extra ${ada} o1999-01-01`]: [ada, new Hash([...hash, ['o1999-01-01', x]])],
    [`missing ${bo} o2015-06-08`]: [bo, null],
    [`wrong type ${ada}`]: [ada, 'set'],
    [`extra ${strange}`]: [strange, 'set'],
    // No write can name such a field: the whole hash is replaced.
    [`extra ${ada} \ufffd`]: [ada, new Hash([...hash, ['\ufffd', x]])],
  };
  for (const [wanted, [key, value]] of Object.entries(damages)) {
    if (value === null) store.redis.keys.delete(key);
    else store.redis.keys.set(key, value);
    expect(spelled(store, await verify(store))).toEqual([wanted]);
    store.redis.keys = new Map(before);
  }
  let told = 0;
  const onCompared = (more: number) => {
    told += more;
  };
  const verified = await verify(store, { onCompared });
  expect(verified).toMatchObject({ found: [], unknown: [], otherFacts: false, compared: told, deleted: null });
  expect(told).toBeGreaterThan(10);
});

it('verify asks the leader to mend what it found, and looks again; where nobody leads, nothing is mended', async () => {
  const { store, running } = await filled();
  const loop = keyOf(store, 'ride', 'loop');
  const right = store.redis.keys.get(loop) as Buffer;
  // Until then its open lists say `compare` of the first fill, and what is asked for is no news.
  await expect.poll(async () => (await store.live().notes(allTags)).some(({ compare }) => compare)).toBe(false);
  const damage = () => void store.redis.keys.set(loop, Buffer.from('x'));
  damage();
  const one = verification(store, { clock: realClock });
  const { found } = await one.run();
  expect(spelled(store, { found })).toEqual([`different ${loop}`]);
  const names = found.flatMap(({ differences }) => differences).map(({ name }) => name);
  // A key in no tag can't be mended.
  const mended = await one.repair([...names, { tag: -1, kind: 'foreign', id: 'junk' }]);
  expect(spelled(store, mended!)).toEqual([]);
  expect(String(store.redis.keys.get(loop))).toBe(String(right));
  await one.end();
  await running.stop();
  damage();
  const other = verification(store, {});
  await other.run();
  expect(await other.repair(names)).toBeNull();
  await other.end();
});

it('verify tells of views that were written from other facts', async () => {
  const store = await left();
  const records = smallWorld.records.map((one) => (one.topic === 'rides' && one.key === 'cafe' ? ride('cafe') : one));
  const { otherFacts, found } = await verify(store, { eventLog: logOf(records) });
  expect(otherFacts).toBe(true);
  expect(spelled(store, { found })).toContain(`different ${keyOf(store, 'ride', 'cafe')}`);
});

it('verify says what to do where views and log can’t be compared', async () => {
  const store = await left();
  const { records } = smallWorld;
  await expect(verify(new SharedStore())).rejects.toThrow('no projector has written all views of this version there');
  const other = Object.assign(logOf(records), { identity: async () => 'another' });
  const { live } = notesBut(store, (tag) => (tag === 7 ? { position: null } : {}));
  await expect(verify(store, { eventLog: other, live })).rejects.toThrow('the views are of another log');
  await expect(verify(store, { eventLog: logOf(records.slice(0, -1)) })).rejects.toThrow(
    "beyond the log's end in relations/0",
  );
  const more = logOf([...records, ride('loop', { title: 'Another' })]);
  const archive = verify(store, { eventLog: more, isReadOnce: true });
  await expect(archive).rejects.toThrow('the archive holds more than the views are of');
  expect((await verify(store, { isReadOnce: true })).found).toEqual([]);
  const grown = await verify(store, { eventLog: more });
  expect(grown).toMatchObject({ found: [], otherFacts: false, ofUnknownSchemas: 0 });
  expect(grown.unknown.map(({ id }) => id)).toContain('loop');
  const cut = new MemoryEventLog({ partitions: byTopic(() => 1), records: placed(records) }, 7, 1);
  expect((await verify(store, { eventLog: cut })).deleted).toContain('metros/0 below offset 1');
  // What is read may be of changes that the log has since.
  const [growing, later] = [logOf(records), placed([...records, ride('loop', { title: 'Another' })]).slice(-1)];
  const read: LiveViews['read'] = (names) => {
    growing.append(...later.splice(0));
    return store.live().read(names);
  };
  store.redis.keys.set(keyOf(store, 'ride', 'loop'), Buffer.from('x'));
  expect((await verify(store, { eventLog: growing, live: { ...store.live(), read } })).found).toEqual([]);
});

it('verify waits for a leader’s position while its tags move, for a minute at most, and four seconds where they stand still', async () => {
  const store = await left();
  const waited = async (notesAt: (look: number, tag: number) => Partial<LiveNotes>, isReady = false) => {
    const clock = new SteppingClock();
    let looks = 0;
    const { live } = notesBut(store, (tag) => {
      looks += tag === 0 ? 1 : 0;
      return { fence: 'led', position: null, ...notesAt(looks, tag) };
    });
    const running = verify(store, { live, clock });
    if (isReady) expect((await running).found).toEqual([]);
    else await expect(running).rejects.toThrow('no projector has written all views of this version there');
    return [clock.slept.filter((ms) => ms === 200).length, looks];
  };
  expect(await waited((_, tag) => (tag === 7 ? { fence: '' } : {}))).toEqual([20, 21]);
  expect(await waited((look, tag) => (tag === 7 && look < 6 ? { fence: `${look}` } : {}))).toEqual([25, 26]);
  expect(await waited((look) => ({ fence: `${look}` }))).toEqual([301, 302]);
  // It stores its first position with a beat.
  const position = store.position(0);
  expect(
    await waited((look, tag) => ({ fence: `${look}`, position: look > 3 || tag > 0 ? position : null }), true),
  ).toEqual([3, 4]);
  // Nobody ever led there.
  expect(await waited(() => ({ fence: '' }))).toEqual([0, 1]);
});

it('verify waits ten minutes for a leader that mends', async () => {
  const clock = new SteppingClock();
  const { live } = notesBut(await left(), () => ({ fence: `${clock.ms}`, compare: true }));
  expect(await verification(await left(), { live, clock }).repair([{ tag: 0, kind: 'ride', id: 'loop' }])).toBeNull();
  expect(clock.slept).toHaveLength(3_001);
});

it('verify compares all that it can where some tags have no position, and says what it does not know', async () => {
  const store = await left();
  const [loop, cafe] = ['loop', 'cafe'].map((id) => keyOf(store, 'ride', id)) as [string, string];
  const bo = keyOf(store, 'rider', 'bo');
  for (const key of [loop, cafe, bo]) store.redis.keys.set(key, Buffer.from('x'));
  const eventLog = logOf(smallWorld.records);
  const { live } = notesBut(store, (tag) => (tag === tagOf('loop') ? { position: null } : {}));
  const { found, unknown } = await verify(store, { eventLog, live });
  expect(spelled(store, { found }).toSorted()).toEqual([`different ${bo}`, `different ${cafe}`]);
  // What was found at one position of the log is told together.
  expect(found.map(({ position }) => position)).toEqual([positionOf(await eventLog.bounds(), 'end')]);
  expect(unknown.map(({ id }) => id)).toEqual(['loop']);
});

it('verify ends with what ends the fold, and where a partition can not be read, or it is told to stop', async () => {
  const store = await left();
  const { records } = smallWorld;
  const gone = Object.assign(logOf(records), { follow: () => Promise.reject(new Error('no such topic')) });
  await expect(verify(store, { eventLog: gone })).rejects.toThrow('no such topic');
  const waiting = logOf(records);
  waiting.reveal(records.length - 1);
  const follow = waiting.follow.bind(waiting);
  waiting.follow = (from, follower, signal) => {
    follower.onWaiting!('relations', 0, true);
    return follow(from, follower, signal);
  };
  await expect(verify(store, { eventLog: waiting })).rejects.toThrow('Cannot read relations/0 up to its end');
  const { stop, signal } = sharedDeps();
  let looks = 0;
  const { live } = notesBut(store, (tag) => {
    if (tag === 0 && looks++ === 3) stop.abort(new Error('told to'));
    return { fence: `${looks}`, position: null };
  });
  await expect(verify(store, { signal, live })).rejects.toThrow('told to');
  expect(looks).toBe(4);
});
