import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { readPositions } from '../../../infra/redis/leadership/who-leads.ts';
import type { Position } from '../../../projector/ports/event-log.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { parseStoredPosition, readableOf } from '../../../projector/position/settled-position.ts';
import type { TopicName } from '../../../schemas/events/records.ts';
import { fieldName, readerKey } from '../../../schemas/views/reader-fields.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { marks, metro, night, on, ride, rider, says } from '../../reference/example-log.ts';
import type { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { logOf, placed } from '../../support/stores/placed-log.ts';
import { type Running, startProjector } from '../../support/stores/projector-run.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';

// docs/rules.md#readable: what a projector's metric says, and what the store says of the same, with the scripts that ship.

const running: Running[] = [];
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

/** `committed`: called after each batch of views that the store has taken. */
function started(log: MemoryEventLog, store: SharedStore, committed: () => Promise<void>): Running {
  const plain = store.writer();
  const commit: ViewWriter['commit'] = async (...args) => {
    const result = await plain.commit(...args);
    await committed();
    return result;
  };
  const one = startProjector(log, { ...plain, commit });
  running.push(one);
  return one;
}

const soon = { timeout: 60_000, interval: 20 };
const date = '2015-06-13';

/** What a projector says; null where it says nothing. */
const told = ({ projector }: Running, of: TopicName): number | null =>
  projector.status().partitions.find(({ topic }) => topic === of)?.readable ?? null;

const storedReadable = async (store: SharedStore): Promise<Position | null> =>
  readableOf(await readPositions(store.connection, store.keys), null);

const hashField = (store: SharedStore, id: string): boolean => {
  const hash = store.redis.keys.get(store.keys.toRedis(readerKey(id)));
  return hash instanceof Map && hash.has(fieldName('f', on(date)));
};

const followers = Array.from({ length: 1_000 }, (_, i) => `f${i}`);
const followed = [
  metro('pdx'),
  ride('loop'),
  night('loop', date),
  rider('star'),
  ...followers.flatMap((id) => [rider(id), marks(id, 'star', 'follows')]),
];

it('a change with 1,000 followers is readable once all are told, though the position is beyond it, its leader goes meanwhile, and the store is lost', async () => {
  const log = logOf(followed);
  const store = new SharedStore();
  const missing: [string, number][] = [];
  let [wentApart, doubts, offset] = [false, 1, Number.POSITIVE_INFINITY];
  const lacking = (): number => followers.filter((id) => !hashField(store, id)).length;
  const check = (who: string, readable: number | null): void => {
    if ((readable ?? 0) <= offset) return;
    const count = lacking();
    if (count > 0) missing.push([who, count]);
  };
  const onCommit = async (): Promise<void> => {
    for (const one of running) {
      const readable = told(one, 'attendance');
      const { role, tagsInRepair } = one.projector.status();
      if (readable === null) doubts += Number(role === 'leader');
      // The leader knows of a loss from its next answer on.
      else if (doubts > 0) check('metric', tagsInRepair > 0 ? offset + 1 : readable);
    }
    check('store', (await storedReadable(store))?.attendance[0] ?? null);
    const positions = allTags.map((tag) => parseStoredPosition(store.position(tag))?.position);
    const isBeyond = positions.some((position) => position && position.attendance[0]! > offset);
    if (!wentApart && isBeyond && lacking() > 0) {
      wentApart = true;
      void first.stop();
    }
    // The fan-out takes longer than it takes for a position to be stored.
    if (offset === 0 && !wentApart) await sleep(100);
  };
  const first = started(log, store, onCommit);
  await first.ready();
  const second = started(log, store, onCommit);
  await expect.poll(() => second.projector.ready, soon).toBe(true);
  await expect.poll(() => told(first, 'relations'), soon).toBe(1_000);
  expect(told(second, 'relations')).toBeNull();
  offset = 0;
  log.append(...placed([says('star', 'GOING', 'loop', date)]));
  const isReadable = async () => {
    await expect.poll(() => told(second, 'attendance'), soon).toBe(1);
    await expect.poll(async () => (await storedReadable(store))?.attendance, soon).toEqual([1]);
    expect([missing, lacking()]).toEqual([[], 0]);
  };
  await isReadable();
  expect([wentApart, told(first, 'attendance'), second.projector.role]).toEqual([true, null, 'leader']);
  doubts = 0;
  store.redis.keys.clear();
  expect(await storedReadable(store)).toBeNull();
  await expect.poll(() => doubts, soon).toBeGreaterThan(10);
  await isReadable();
  store.restart('another');
  expect(await storedReadable(store)).toBeNull();
  await isReadable();
});
