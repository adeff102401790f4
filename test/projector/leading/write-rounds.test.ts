import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Folding } from '../../../projector/intake/folding.ts';
import { CatchUp } from '../../../projector/leading/catch-up.ts';
import { writeRounds } from '../../../projector/leading/write-rounds.ts';
import { realClock } from '../../../projector/ports/clock.ts';
import { WakeUp } from '../../../projector/ports/waiting.ts';
import { UnreadableChanges } from '../../../projector/status/unreadable-changes.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import { tagOf } from '../../../schemas/views/view-keys.ts';
import { rideKey } from '../../../schemas/views/view-kinds.ts';
import { projecting } from '../../support/processes/service.ts';
import { SharedStore } from '../../support/stores/shared-store.ts';
import { watchedWriter } from '../../support/stores/watched-writer.ts';
import { toLogRecord } from '../../support/worlds/histories.ts';
import { sampleRecords } from '../../support/worlds/records.ts';

// docs/rules.md#complete
it('no tag is said to be complete, and nothing stands, before a round is written whole', async () => {
  const store = new SharedStore();
  const early: number[] = [];
  let away = true;
  const writer = watchedWriter(store.writer(), {
    before(tag, writes, { stamp }) {
      if (stamp && away) early.push(tag);
      if (away && writes.length > 0 && tag === tagOf('loop')) throw new Error('It does not answer');
    },
  });
  const { lanes, rounds, position, take } = await projecting(writer);
  const { metros, rides } = sampleRecords;
  const publish = (topic: TopicName, key: string, value: AnyRecord): Promise<void> => {
    const record = toLogRecord({ topic, partition: 0, offset: 0, timestampMs: 0, key, value });
    return take({ topic, partition: 0, records: [record], nextOffset: 1 });
  };
  await publish('metros', 'portland', { ...metros, metro: 'portland', time_zone: 'UTC' });
  await publish('rides', 'loop', { ...rides, ride: 'loop', metro: 'portland', posted: true });
  // Every tag has answered, so nothing but the views is missing.
  for (let beat = 0; beat < 3; beat++) {
    lanes.beat();
    await sleep(5);
  }

  const ending = new AbortController();
  const { signal } = ending;
  const shared = { clock: realClock, signal };
  const folding = { position, moved: new WakeUp() } as unknown as Folding;
  const catchUp = new CatchUp({ ...shared, foldToEnds: async () => {} });
  const changes = new UnreadableChanges(() => {}, realClock);
  let stands = 0;
  const onStand = (): void => void stands++;
  const done = writeRounds({ ...shared, rounds, lanes, folding, catchUp, changes, fanOuts: { told: 0 }, onStand });
  await sleep(250);
  expect([early, stands]).toEqual([[], 0]);

  away = false;
  while (!(await store.reader().ready()).ready) await sleep(5);
  expect(stands).toBe(1);
  expect((await store.reader().get([rideKey('loop')]))[0]).not.toBeNull();
  ending.abort();
  await done;
});
