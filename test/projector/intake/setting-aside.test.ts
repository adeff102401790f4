import { expect, it, vi } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { fastClock } from '../../support/stores/fast-clock.ts';
import { MemoryEventLog } from '../../support/stores/memory-event-log.ts';
import { startProjector } from '../../support/stores/projector-run.ts';

const placed = { partition: 0, timestampMs: 7, value: null };
/** Every other one is a tombstone with a key that no rider has. */
const records = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({
    ...{ topic: 'riders' as const, offset: from + i, key: (from + i) % 2 === 0 ? `not an id ${from + i}` : 'r1' },
    ...placed,
  }));

const offsetsIn = ({ rejected }: MemoryEventLog): number[] =>
  rejected.map(({ offset }) => offset).toSorted((a, b) => a - b);
const isSetAside = (log: MemoryEventLog, ...offsets: number[]) =>
  expect.poll(() => offsetsIn(log), { timeout: 10_000 }).toEqual(offsets);

// docs/rules.md#rejected
it('bad records that are lost where they were set aside are set aside again, however old, each once, while a projector goes on and as one begins', async () => {
  const log = new MemoryEventLog({ partitions: byTopic(() => 1), records: records(0, 8) });
  const start = () => startProjector(log, new MemoryViewStore().writer(), log.rejects, { clock: fastClock });
  const first = start();
  await isSetAside(log, 0, 2, 4, 6);
  log.rejected.splice(1, 2);
  await isSetAside(log, 0, 2, 4, 6);
  log.append(...records(8, 10));
  await isSetAside(log, 0, 2, 4, 6, 8);
  await first.stop();
  log.rejected.splice(0, 4);
  const second = start();
  await isSetAside(log, 0, 2, 4, 6, 8);
  expect(second.projector.status()).toMatchObject({ missingRejects: 0, notes: [] });
  await second.stop();
});

it('what is missing is said as long as it is', async () => {
  const log = new MemoryEventLog({ partitions: byTopic(() => 1), records: records(0, 8) });
  const publish = vi.spyOn(log.rejects, 'publish').mockRejectedValue(new Error('no room'));
  vi.spyOn(log.rejects, 'holdsAll').mockResolvedValue(false);
  const { projector, stop } = startProjector(log, new MemoryViewStore().writer(), log.rejects, { clock: fastClock });
  const notes = () => projector.status().notes.join();
  await expect.poll(notes, { timeout: 10_000 }).toContain('bad records wait to be set aside');
  publish.mockResolvedValueOnce(4);
  await expect
    .poll(notes, { timeout: 10_000 })
    .toContain('the topic of rejected records lacks 4 bad records of the log');
  await stop();
});
