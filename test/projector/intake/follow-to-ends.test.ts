import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { followToEnds } from '../../../projector/intake/follow-to-ends.ts';
import type { LogBatch } from '../../../projector/ports/event-log.ts';
import { gone } from '../../reference/example-log.ts';
import { logOf, positionAt } from '../../support/stores/placed-log.ts';

it('a log is followed up to the ends that it had, until it fails, or until told to stop', async () => {
  const log = logOf(Array.from({ length: 20 }, (_, i) => gone('riders', `r${i}`)));
  const bounds = await log.bounds();
  const { signal } = new AbortController();
  const seen: number[] = [];
  const see = ({ nextOffset }: LogBatch) => void seen.push(nextOffset);
  await followToEnds(log, positionAt({ riders: 20 }), bounds, signal, see);
  expect(seen).toEqual([]);
  await followToEnds(log, positionAt(), bounds, signal, see);
  expect(seen).toEqual([7, 14, 20]);
  const away = { follow: () => Promise.reject(new Error('no broker')) };
  await expect(followToEnds(away, positionAt(), bounds, signal, see)).rejects.toThrow('no broker');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const told = new AbortController();
  const stop = (batch: LogBatch) => {
    see(batch);
    told.abort(new Error('told to stop'));
  };
  await expect(followToEnds(log, positionAt(), bounds, told.signal, stop)).rejects.toThrow('told to stop');
  expect(seen).toEqual([7, 14, 20, 7]);
});
