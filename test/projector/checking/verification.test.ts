import { expect, it } from 'vitest';
import { Verification, type Verified } from '../../../projector/checking/verification.ts';
import { realClock } from '../../../projector/ports/clock.ts';
import type { LiveViews } from '../../../projector/ports/live-views.ts';
import { silentLog } from '../../../projector/ports/log.ts';
import { type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { allTags, tagOf, viewFormat } from '../../../schemas/views/view-keys.ts';
import { ride } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { Hash } from '../../simulator/redis-commands.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { smallWorld } from '../../support/worlds/small-world.ts';

// P46, on a Redis in memory; verification.int.test.ts does it to random worlds in a real one.

const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;

function logOf(records: readonly LoggedRecord[]): MemoryEventLog {
  const next = new Map<TopicName, number>();
  const placed = records.map(({ topic, key, value }) => {
    const offset = next.get(topic) ?? 0;
    next.set(topic, offset + 1);
    return { topic, partition: 0, offset, timestampMs: 0, key, value };
  });
  return new MemoryEventLog({ partitions, records: placed });
}

/** A store that a projector has filled. It leads until it is told to stop. */
async function filled() {
  const store = new SharedStore();
  const running = startProjector(logOf(smallWorld.records), store.writer());
  await running.ready();
  return { store, running };
}

async function left(): Promise<SharedStore> {
  const { store, running } = await filled();
  await running.stop();
  return store;
}

const verification = (store: SharedStore, eventLog: MemoryEventLog, more = {}): Verification =>
  new Verification({
    ...{ eventLog, live: store.live(), clock: fastClock, log: silentLog },
    ...{ signal: new AbortController().signal, ...more },
  });

async function verify(store: SharedStore, eventLog = logOf(smallWorld.records), more = {}): Promise<Verified> {
  const one = verification(store, eventLog, more);
  return one.run().finally(() => one.end());
}

const spelled = (store: SharedStore, { found }: Pick<Verified, 'found'>): string[] =>
  found
    .flatMap(({ differences }) => differences)
    .map(({ what, name, field }) =>
      [what, store.live().spell(name), ...(field === undefined ? [] : [field])].join(' '),
    );

const keyOf = ({ keys }: SharedStore, kind: 'ride' | 'reader', id: string): string => keys.of(tagOf(id), kind, id);

it('verify names any one thing that is changed in the store, and nothing else', async () => {
  const store = await left();
  const loop = keyOf(store, 'ride', 'loop');
  const ada = keyOf(store, 'reader', 'ada');
  const before = new Map(store.redis.keys);
  const bytes = before.get(loop) as Buffer;
  const hash = before.get(ada) as Hash;
  const [field] = [...hash.keys()] as [string];
  const moved = loop.replace(/\{v\d+\}/, `{v${(tagOf('loop') + 1) % 64}}`);
  const odd = `g${viewFormat}:junk`;
  const x = Buffer.from('x');
  const without = new Hash([...hash].slice(1));
  const damages: Record<string, [string, Buffer | Hash | 'list' | null]> = {
    [`different ${loop}`]: [loop, Buffer.concat([bytes, x])],
    [`missing ${loop}`]: [loop, null],
    [`wrong type ${loop}`]: [loop, 'list'],
    [`extra ${loop}~`]: [`${loop}~`, x],
    [`extra ${moved}`]: [moved, bytes],
    [`extra ${odd}`]: [odd, x],
    [`missing ${ada} ${field}`]: [ada, without],
    [`different ${ada} ${field}`]: [ada, new Hash([[field, x], ...without])],
    [`extra ${ada} o1999-01-01`]: [ada, new Hash([...hash, ['o1999-01-01', x]])],
    [`wrong type ${ada}`]: [ada, 'list'],
  };
  for (const [wanted, [key, value]] of Object.entries(damages)) {
    if (value === null) store.redis.keys.delete(key);
    else store.redis.keys.set(key, value);
    expect(spelled(store, await verify(store))).toEqual([wanted]);
    store.redis.keys = new Map(before);
  }
  const told: number[] = [];
  const { found, unknown, otherFacts, compared } = await verify(store, undefined, {
    onCompared: (n: number) => told.push(n),
  });
  expect([found, unknown, otherFacts]).toEqual([[], [], false]);
  expect(compared).toBeGreaterThan(10);
  expect(told.reduce((sum, n) => sum + n, 0)).toBe(compared);
});

it('verify asks the leader to mend what it found, and looks again; where nobody leads, nothing is mended', async () => {
  const { store, running } = await filled();
  const loop = keyOf(store, 'ride', 'loop');
  const right = store.redis.keys.get(loop) as Buffer;
  // Until then its open lists say `compare` of the first fill, and what is asked for is no news.
  await expect
    .poll(async () => (await store.live().notes(allTags)).some(({ compare }) => compare), { timeout: 60_000 })
    .toBe(false);
  const damage = () => void store.redis.keys.set(loop, Buffer.from('x'));
  damage();
  const one = verification(store, logOf(smallWorld.records), { clock: realClock });
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
  const other = verification(store, logOf(smallWorld.records));
  await other.run();
  expect(await other.repair(names)).toBeNull();
  await other.end();
});

it('verify waits for the first position of a leader that is just ready', async () => {
  const store = await left();
  let looks = 0;
  const live: LiveViews = {
    ...store.live(),
    async notes(tags) {
      const notes = await store.live().notes(tags);
      looks++;
      return looks > 3 ? notes : notes.map((one) => ({ ...one, fence: `${looks}`, position: null }));
    },
  };
  expect((await verify(store, undefined, { live })).found).toEqual([]);
});

it('verify says that what changed since is unknown, where nobody leads any more', async () => {
  const store = await left();
  const grown = logOf([...smallWorld.records, ride('loop', { title: 'Another' })]);
  const { found, unknown, otherFacts } = await verify(store, grown);
  expect([found, otherFacts]).toEqual([[], false]);
  expect(unknown.length).toBeGreaterThan(0);
  expect(unknown.map(({ id }) => id)).toContain('loop');
});

it('verify tells of views that were written from other facts', async () => {
  const store = await left();
  const records = smallWorld.records.map((one) => (one.topic === 'rides' && one.key === 'cafe' ? ride('cafe') : one));
  const { otherFacts, found } = await verify(store, logOf(records));
  expect(otherFacts).toBe(true);
  expect(spelled(store, { found })).toContain(`different ${keyOf(store, 'ride', 'cafe')}`);
});

it('verify says what to do where views and log can’t be compared', async () => {
  const store = await left();
  const { records } = smallWorld;
  await expect(verify(new SharedStore())).rejects.toThrow('no projector has written all views of this version there');
  const other = Object.assign(logOf(records), { identity: async () => 'another' });
  await expect(verify(store, other)).rejects.toThrow('the views are of another log');
  await expect(verify(store, logOf(records.slice(0, -1)))).rejects.toThrow("beyond the log's end in relations/0");
  const more = logOf([...records, ride('new')]);
  await expect(verify(store, more, { isReadOnce: true })).rejects.toThrow(
    'the archive holds more than the views are of',
  );
  expect((await verify(store, logOf(records), { isReadOnce: true })).found).toEqual([]);
});
