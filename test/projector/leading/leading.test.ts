import { afterEach, describe, expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import type { EventLog } from '../../../projector/ports/event-log.ts';
import type { Log } from '../../../projector/ports/log.ts';
import { aborted } from '../../../projector/ports/waiting.ts';
import { type AnyRecord, type TopicName, topicNames } from '../../../schemas/events/records.ts';
import { allTags, readerKey, rideKey, riderKey, tagOf } from '../../../schemas/views/view-keys.ts';
import { projectorReadiness } from '../../../services/wiring/http/readiness.ts';
import { fastClock } from '../../support/fast-clock.ts';
import type { HistoryRecord } from '../../support/histories.ts';
import { MemoryEventLog } from '../../support/memory-event-log.ts';
import { mortalWriter } from '../../support/mortal-writer.ts';
import { projected, type Running, startProjector } from '../../support/projector-run.ts';
import { sampleRecords } from '../../support/records.ts';
import { SharedStore } from '../../support/shared-store.ts';
import { dumpViews } from '../../support/view-dump.ts';
import { watchedWriter } from '../../support/watched-writer.ts';

const partitions = Object.fromEntries(topicNames.map((topic) => [topic, 1])) as Record<TopicName, number>;
const day = 20_000;

/** A log that grows, and what it ought to be projected to. */
class World {
  readonly records: HistoryRecord[] = [];
  readonly log = new MemoryEventLog({ partitions, records: [] });
  readonly #offsets = new Map<TopicName, number>();

  publish(topic: TopicName, key: string, value: AnyRecord | null): void {
    const offset = this.#offsets.get(topic) ?? 0;
    this.#offsets.set(topic, offset + 1);
    const record = { topic, partition: 0, offset, timestampMs: 0, key, value };
    this.records.push(record);
    this.log.append(record);
  }

  rider(id: string, name = id): void {
    this.publish('riders', id, { ...sampleRecords.riders, rider: id, handle: name, name: null });
  }

  ride(id: string, title = id): void {
    this.publish('rides', id, { ...sampleRecords.rides, ride: id, title, metro: 'portland', posted: true });
  }

  answers(rider: string, response: 'GOING' | 'NONE'): void {
    const value = { ...sampleRecords.attendance, ride: 'ride1', day, rider, response, saved: false } as const;
    this.publish('attendance', `ride1/${new Date(day * 86_400_000).toISOString().slice(0, 10)}/${rider}`, value);
  }

  follows(rider: string, other: string, follows: boolean): void {
    const none = { close: false, flagged: false, blocked: false };
    this.publish('relations', `${rider}/${other}`, { ...sampleRecords.relations, ...none, rider, other, follows });
  }

  views(): Promise<Map<string, string>> {
    return projected(new MemoryViewStore(), { partitions, records: this.records });
  }
}

function world(rides = 40): World {
  const made = new World();
  made.publish('metros', 'portland', { ...sampleRecords.metros, metro: 'portland', time_zone: 'UTC' });
  for (let i = 1; i <= rides; i++) made.ride(`ride${i}`);
  for (let i = 1; i <= rides; i++) made.rider(`r${i}`);
  return made;
}

const running: Running[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop().catch(() => {});
});

/** A projector of its own process over the store, with what it says and how many views it compared. */
function begin(
  made: { log: EventLog },
  store: SharedStore,
  { commits = Number.POSITIVE_INFINITY, build = 'same', onLook = (): void => {} } = {},
) {
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const log: Log = { info: say, warn: say, error: say };
  let listed = 0;
  const mortal = mortalWriter(store.writer(), commits);
  const { writer } = mortal;
  const counting = {
    ...writer,
    leadership: writer.leadership && {
      ...writer.leadership,
      look: (tags: readonly number[]) => {
        onLook();
        return writer.leadership!.look(tags);
      },
    },
    list: (tags: readonly number[]) => {
      listed += tags.length;
      return writer.list(tags);
    },
  };
  const started = startProjector(made.log, counting, null, { clock: fastClock, log, build });
  running.push(started);
  return { ...started, said, listed: () => listed, kill: mortal.kill, killed: mortal.killed };
}

const leads = ({ projector }: Running): boolean => projector.role === 'leader';
/** Leads, and its views are right. */
const hasTakenOver = (one: Running): Promise<void> =>
  expect.poll(() => leads(one) && one.projector.ready, { timeout: 10_000 }).toBe(true);
/** Tags whose open lists say that their views must be compared. */
const stillToCompare = (store: SharedStore): number[] => allTags.filter((tag) => store.isDoubtful(tag));
const isRight = async (made: World, store: SharedStore): Promise<void> => {
  const wanted = await made.views();
  await expect.poll(() => dumpViews(store), { timeout: 10_000 }).toEqual(wanted);
};

describe('a standby', () => {
  it('takes over a leader that was killed, without a comparison of any view', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    const second = begin(made, store);
    await second.ready();
    expect([leads(first), leads(second)]).toEqual([true, false]);
    made.ride('ride1', 'changed');
    await isRight(made, store);
    first.kill();
    made.ride('ride2', 'changed while nobody leads');
    await expect.poll(() => leads(second), { timeout: 10_000 }).toBe(true);
    await isRight(made, store);
    expect(second.listed()).toBe(0);
    expect(second.said.join()).toContain('the log holds the facts that the views were stored with');
  });

  it('is ready once it is folded, and stays so while the leader’s position moves on', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    const second = begin(made, store);
    await second.ready();
    const unready: number[] = [];
    for (let turn = 0; turn < 300; turn++) {
      made.ride('ride1', `title ${turn}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (!second.projector.ready) unready.push(turn);
    }
    expect(leads(second)).toBe(false);
    expect(unready).toEqual([]);
  });

  it('is not ready before it has folded anything, however often it looks at the leader’s position', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    await expect.poll(() => store.position(0), { timeout: 10_000 }).not.toBeNull();
    let looks = 0;
    const deaf = {
      bounds: () => made.log.bounds(),
      follow: (_: unknown, __: unknown, signal: AbortSignal) => aborted(signal),
      close: async () => {},
    };
    const second = begin({ log: deaf }, store, { onLook: () => void looks++ });
    await expect.poll(() => looks, { timeout: 10_000 }).toBeGreaterThan(4);
    expect(second.projector.ready).toBe(false);
  });

  it('beside the leader of another log says what it waits for, once, and leads when that is told to stop', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    await expect.poll(() => store.position(0), { timeout: 10_000 }).not.toBeNull();
    const moved = { bounds: () => made.log.bounds(), identity: async () => 'moved' };
    let looks = 0;
    const log = { ...moved, follow: made.log.follow.bind(made.log), close: async () => {} };
    const second = begin({ log }, store, { onLook: () => void looks++ });
    await expect.poll(() => looks, { timeout: 10_000 }).toBeGreaterThan(8);
    const otherLog = () => second.said.filter((line) => line.includes('of another log'));
    expect(otherLog()).toEqual([
      'Not ready: the views in the store are of another log, and this projector leads once no other one does: stop those with another KAFKA_BROKERS, KAFKA_TOPIC_PREFIX or ARCHIVE_DIR',
    ]);
    expect(await projectorReadiness(() => second.projector)()).toEqual({
      ready: false,
      reason: expect.stringContaining('the views in the store are of another log'),
    });
    expect([leads(second), second.projector.ready]).toEqual([false, false]);
    await first.stop();
    await hasTakenOver(second);
    expect(otherLog()).toHaveLength(1);
    expect(second.projector.status().troubles).toEqual([]);
  });

  it('takes over at once where the leader was told to stop', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    const second = begin(made, store);
    await second.ready();
    // Its open lists are of use once the first comparison is over.
    await expect.poll(() => stillToCompare(store), { timeout: 10_000 }).toEqual([]);
    await first.stop();
    expect(allTags.every((tag) => store.isFree(tag) || leads(second))).toBe(true);
    await expect.poll(() => leads(second), { timeout: 10_000 }).toBe(true);
    made.ride('ride1', 'changed');
    await isRight(made, store);
    expect(second.listed()).toBe(0);
  });

  it('mends what the leader wrote ahead of its position, though it folds partitions in another order', async () => {
    const [made, store] = [world(), new SharedStore()];
    made.follows('r1', 'r2', true);
    const field = 'f2024-10-04';
    expect(new Date(day * 86_400_000).toISOString().slice(0, 10)).toBe('2024-10-04');
    const first = begin(made, store);
    await first.ready();
    await isRight(made, store);
    // The leader folds the RSVP, writes what the follower sees, and dies before its position moves.
    const held = allTags.map((tag) => store.position(tag)!);
    made.answers('r2', 'GOING');
    const reads = async () => (await store.reader().fields(readerKey('r1'), [field]))[0];
    await expect.poll(reads, { timeout: 5_000 }).not.toBeNull();
    first.kill();
    for (const tag of allTags) store.redis.command(['SET', store.keys.position(tag), held[tag]!]);
    store.redis.command(['ZADD', store.keys.open(tagOf('r1')), '1', `reader:r1/${field}`]);
    // The successor folds the unfollow first: the RSVP is then nothing to the former follower.
    made.follows('r1', 'r2', false);
    const turned = [...made.records].sort((a, b) => Number(b.topic === 'relations') - Number(a.topic === 'relations'));
    const other = new World();
    other.records.push(...turned);
    other.log.append(...turned);
    const second = begin(other, store);
    await hasTakenOver(second);
    await isRight(made, store);
    expect([await reads(), second.listed()]).toEqual([null, 0]);
  });

  it('compares all tags where its facts are not those that the views were left with', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    first.kill();
    for (const tag of allTags) {
      const other = store.position(tag)!.replace(/"sum":"[0-9a-f]{8}/, '"sum":"00000000');
      store.redis.command(['SET', store.keys.position(tag), other]);
    }
    const second = begin(made, store);
    await hasTakenOver(second);
    expect(second.listed()).toBe(allTags.length);
    await isRight(made, store);
  });

  it('checks the views of another build in the background, and mends what that rendered otherwise', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store, { build: 'older' });
    await first.ready();
    await first.stop();
    const [key] = await dumpViews(store).then((dump) => [...dump.keys()].filter((each) => each.includes('|ride:')));
    const writer = store.writer();
    const tag = Number(key!.split('|')[0]);
    await writer.leadership!.take(tag, (await writer.leadership!.look([tag]))[0]!.fence, false);
    await writer.commit(tag, [{ kind: 'ride', id: key!.split(':')[1]!, value: Buffer.from('rendered otherwise') }]);
    await writer.leadership!.free(tag);
    const second = begin(made, store);
    await hasTakenOver(second);
    await isRight(made, store);
    await expect.poll(second.listed).toBe(allTags.length);
  });

  it('stands by while the leader lives, and never duels with it', async () => {
    const [made, store] = [world(), new SharedStore()];
    const [first, second] = [begin(made, store), begin(made, store)];
    await Promise.all([first.ready(), second.ready()]);
    for (let i = 0; i < 20; i++) {
      made.ride('ride1', `title ${i}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await isRight(made, store);
    const terms = [...first.said, ...second.said].filter((message) => message.startsWith('Leading:'));
    expect(terms).toHaveLength(1);
    expect([leads(first), leads(second)].filter(Boolean)).toHaveLength(1);
    const standby = leads(first) ? second : first;
    expect(standby.said.filter((message) => message.startsWith('Ready: standing by'))).toHaveLength(1);
  });
});

describe('a leader', () => {
  it('compares a store that is new in two passes: some tags, in which it finds nothing, then all others', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    const passes = (one: { said: string[] }) =>
      one.said.flatMap((line) => /^Compared (\d+) tags/.exec(line)?.[1] ?? []);
    expect(passes(first)).toEqual(['16', '48']);
    first.kill();
    for (const tag of allTags) store.redis.command(['ZADD', store.keys.open(tag), '1', 'compare']);
    const second = begin(made, store);
    await hasTakenOver(second);
    expect(passes(second)).toEqual(['16', '16', '16', '16']);
    await isRight(made, store);
  });

  it('that another one took over from stands by, changes no byte, and takes over again later', async () => {
    const [made, store] = [world(), new SharedStore()];
    const late: number[] = [];
    let frozen: Promise<void> | null = null;
    let deposed = false;
    const writer = watchedWriter(store.writer(), {
      before: () => frozen ?? undefined,
      after: (tag) => {
        if (deposed) late.push(tag);
      },
    });
    const zombie = startProjector(made.log, writer, null, { clock: fastClock });
    running.push(zombie);
    await zombie.ready();
    const { promise, resolve } = Promise.withResolvers<void>();
    frozen = promise;
    made.ride('ride1', 'what the zombie has in hand');
    const second = begin(made, store);
    await expect.poll(() => leads(second), { timeout: 10_000 }).toBe(true);
    made.ride('ride1', 'newer');
    await isRight(made, store);
    deposed = true;
    frozen = null;
    resolve();
    await expect.poll(() => leads(zombie), { timeout: 10_000 }).toBe(false);
    await isRight(made, store);
    expect(late).toEqual([]);
    deposed = false;
    second.kill();
    await expect.poll(() => leads(zombie), { timeout: 10_000 }).toBe(true);
    made.rider('r1', 'renamed');
    await isRight(made, store);
  });

  it('takes its tags again where one was lost, compares that one alone, and goes on writing meanwhile', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    await expect.poll(() => stillToCompare(store), { timeout: 10_000 }).toEqual([]);
    const before = first.listed();
    const tag = tagOf('ride1');
    store.redis.command(['DEL', store.keys.fence(tag)]);
    made.ride('ride2', 'changed');
    await expect.poll(() => first.listed() - before, { timeout: 10_000 }).toBe(1);
    await isRight(made, store);
    expect(leads(first)).toBe(true);
  });

  it('fills a store that was emptied, and says nothing is complete before it is', async () => {
    const [made, store] = [world(), new SharedStore()];
    const first = begin(made, store);
    await first.ready();
    await expect.poll(async () => (await store.reader().ready()).ready).toBe(true);
    store.redis.empty();
    expect((await store.reader().ready()).ready).toBe(false);
    await expect.poll(async () => (await store.reader().ready()).ready, { timeout: 10_000 }).toBe(true);
    await isRight(made, store);
    expect(await store.reader().get([rideKey('ride1'), riderKey('r1')])).not.toContain(null);
  });

  it('that dies while it compares leaves the rest of the comparison to the next one', async () => {
    const [made, store] = [world(400), new SharedStore()];
    const first = begin(made, store, { commits: 150 });
    await first.killed;
    const second = begin(made, store);
    await hasTakenOver(second);
    await isRight(made, store);
    await expect.poll(() => stillToCompare(store), { timeout: 10_000 }).toEqual([]);
  });
});
