import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NoRoomError } from '../../../projector/leading/room-for-views.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { dumpViews } from '../../support/stores/view-dump.ts';
import { type History, worldArb } from '../../support/worlds/histories.ts';

const [history] = fc.sample(worldArb(), { numRuns: 1, seed: 7 }) as [History];
const begin = (store: SharedStore, room: number) => {
  const writer = store.writer();
  const leadership = { ...writer.leadership!, room: async () => room };
  return startProjector(new MemoryEventLog(history), { ...writer, leadership }, null, { clock: fastClock });
};

// docs/rules.md#fill
it('a fill that the store’s memory would not hold is refused: nothing is written, and the tags are free', async () => {
  const store = new SharedStore();
  const refused = begin(store, 1_000);
  await expect(refused.ready()).rejects.toThrow(NoRoomError);
  expect(await dumpViews(store)).toEqual(new Map());
  expect(allTags.filter((tag) => !store.isFree(tag))).toEqual([]);
});

it('a fill that the store has room for goes on, and so does any later start, whatever room is left', async () => {
  const store = new SharedStore();
  const first = begin(store, 1_000_000);
  await first.ready();
  await first.stop();
  const views = await dumpViews(store);
  expect(views.size).toBeGreaterThan(20);
  const second = begin(store, 0);
  await second.ready();
  await second.stop();
  expect(await dumpViews(store)).toEqual(views);
});
