import { expect, it, vi } from 'vitest';
import { ViewCache } from '../../../../api/calendar/views/view-cache.ts';
import { MemoryViewStore } from '../../../../infra/memory/memory-view-store.ts';
import type { ViewWriter } from '../../../../projector/ports/view-writer.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { parseKey, rideKey, riderKey } from '../../../../schemas/views/view-kinds.ts';
import { eraseGoneRiders } from '../../../../services/serve/sign-in/serve-sign-in.ts';
import { complete } from '../../../support/stores/lead.ts';
import { valueWrite } from '../../../support/stores/view-names.ts';

const card = riderKey('rider-ada');
const write = (writer: ViewWriter, value: Buffer | null, key = card) =>
  writer.commit(parseKey(key).tag, [valueWrite(key, value)]);

// docs/rules.md#ended-tokens
it('a rider whose card is gone is erased, and left to the sweep while the store is not complete, since the card may only be missing', async () => {
  const store = new MemoryViewStore();
  const writer = store.writer();
  const eraseRider = vi.fn(async () => {});
  const sweepSoon = vi.fn();
  const calls = () => [eraseRider.mock.calls, sweepSoon.mock.calls.length];
  eraseGoneRiders(new ViewCache(store.reader()), { eraseRider, sweepSoon });
  // For whom was erased while no process ran.
  expect(calls()).toEqual([[], 1]);
  vi.clearAllMocks();
  await write(writer, Buffer.from('Ada'));
  await write(writer, null);
  await expect.poll(calls).toEqual([[], 1]);
  await complete(writer, allTags);
  vi.clearAllMocks();
  await write(writer, Buffer.from('Ada'));
  // A ride may have any rider's id.
  for (const value of [Buffer.from('A ride'), null]) await write(writer, value, rideKey('rider-ada'));
  await expect.poll(calls).toEqual([[], 0]);
  await write(writer, null);
  await expect.poll(calls).toEqual([[['rider-ada']], 0]);
});
