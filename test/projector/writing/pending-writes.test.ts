import { expect, it } from 'vitest';
import { Fold } from '../../../projector/facts/fold.ts';
import type { LogBatch } from '../../../projector/ports/event-log.ts';
import { PositionBarriers } from '../../../projector/position/settled-position.ts';
import { PendingWrites } from '../../../projector/writing/pending-writes.ts';
import { marks, ride, rider, says } from '../../reference/example-log.ts';
import type { LoggedRecord } from '../../reference/facts.ts';
import { positionAt } from '../../support/stores/placed-log.ts';
import { applyTo } from '../../support/stores/rendered-views.ts';

/** What changes leave to write, where every rider with a watcher has many. */
function pendingWrites() {
  const fold = new Fold();
  const barriers = new PositionBarriers(positionAt());
  const listeners = new Set<(batch: LogBatch) => void>();
  const subscribe = (listener: (batch: LogBatch) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  /** By batch, the number of the last fan-out that it began. */
  const taken: number[] = [];
  const changes = { take: (_: unknown, fanOut: number) => void taken.push(fanOut) };
  const pending = new PendingWrites({ fold, barriers, subscribe }, changes, { inlineMax: 0 });
  const take = (...records: LoggedRecord[]) => {
    for (const record of records) applyTo(fold, record);
    for (const listener of listeners) listener({} as LogBatch);
  };
  return { facts: fold.facts, pending, taken, take };
}

const day = '2015-06-13';
const goes = (response: 'GOING' | 'NONE') => says('star', response, 'loop', day);

it('changes are marked and measured while a leader wants it, each once, with the last fan-out that they began', () => {
  const { pending, taken, take } = pendingWrites();
  take(rider('star'), rider('ada'), marks('ada', 'star', 'follows'));
  expect([taken, pending.marks.size]).toEqual([[], 0]);
  pending.mark();
  pending.mark();
  take(ride('loop'));
  expect(pending.marks.size).toBe(1);
  take(goes('GOING'), goes('NONE'));
  take(ride('loop', { title: 'Another' }));
  take(goes('GOING'));
  expect(taken).toEqual([0, 2, 0, 3]);
  pending.forget();
  expect([pending.marks.size, pending.fanOuts.idle]).toEqual([0, true]);
  take(goes('NONE'));
  expect([taken.length, pending.marks.size, pending.fanOuts.idle]).toEqual([4, 0, true]);
  pending.mark();
  take(goes('GOING'));
  expect(taken.slice(4)).toEqual([4]);
  // What a leader before left is begun again, and no batch of this one began it.
  pending.forget();
  pending.mark();
  const left = ['star', [16_599, 16_600]] as const;
  pending.takeOn([], [left, ['unknown', [16_599]]]);
  expect(pending.fanOuts.stored()).toEqual([left]);
  take(ride('loop'));
  expect(taken.slice(5)).toEqual([0]);
});
