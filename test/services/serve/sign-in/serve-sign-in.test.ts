import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ViewCache } from '../../../../api/calendar/views/view-cache.ts';
import { MemoryViewStore } from '../../../../infra/memory/memory-view-store.ts';
import type { ViewWriter } from '../../../../projector/ports/view-writer.ts';
import { allTags } from '../../../../schemas/views/view-keys.ts';
import { parseKey, riderKey } from '../../../../schemas/views/view-kinds.ts';
import { eraseGoneRiders } from '../../../../services/serve/sign-in/serve-sign-in.ts';
import { complete } from '../../../support/stores/lead.ts';
import { valueWrite } from '../../../support/stores/view-names.ts';

const card = riderKey('rider-ada');
const write = (writer: ViewWriter, value: Buffer | null) =>
  writer.commit(parseKey(card).tag, [valueWrite(card, value)]);

// docs/rules.md#ended-tokens
describe('a rider whose card changes', () => {
  let writer: ViewWriter;
  const eraseRider = vi.fn(async () => {});
  const sweepSoon = vi.fn();
  const calls = () => [eraseRider.mock.calls, sweepSoon.mock.calls.length];
  beforeEach(() => {
    const store = new MemoryViewStore();
    writer = store.writer();
    eraseGoneRiders(new ViewCache(store.reader()), { eraseRider, sweepSoon });
    vi.clearAllMocks();
  });

  it('is erased where the card is gone, and kept where it is there', async () => {
    await complete(writer, allTags);
    vi.clearAllMocks();
    await write(writer, Buffer.from('Ada'));
    await expect.poll(calls).toEqual([[], 0]);
    await write(writer, null);
    await expect.poll(calls).toEqual([[['rider-ada']], 0]);
  });

  it('is left to the sweep while the store is not complete, since the card may only be missing', async () => {
    await write(writer, Buffer.from('Ada'));
    await write(writer, null);
    await expect.poll(calls).toEqual([[], 1]);
  });
});
