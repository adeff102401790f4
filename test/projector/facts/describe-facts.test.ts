import { expect, it } from 'vitest';
import { describeFacts } from '../../../projector/facts/describe-facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import { sampleRecords } from '../../support/records.ts';

it('what was folded is told without erased riders, deleted rides, and ids that others only refer to', () => {
  const fold = new Fold();
  for (const rider of ['r1', 'r2', 'r3']) fold.apply('riders', rider, { ...sampleRecords.riders, rider });
  fold.apply('riders', 'r2', null);
  fold.apply('relations', 'r1/unknown', { ...sampleRecords.relations, rider: 'r1', other: 'unknown' });
  for (const ride of ['a', 'b']) fold.apply('rides', ride, { ...sampleRecords.rides, ride, leaders: ['nobody'] });
  fold.apply('rides', 'b', null);
  const night = { ...sampleRecords.nights, ride: 'c', day: sampleRecords.nights.day };
  fold.apply('nights', 'c/2026-01-01', night);
  fold.apply('attendance', 'a/2026-01-01/r1', {
    ...sampleRecords.attendance,
    ride: 'a',
    day: sampleRecords.nights.day,
    rider: 'r1',
  });
  fold.apply('metros', 'pdx', { ...sampleRecords.metros, metro: 'pdx' });
  fold.apply('metros', 'gone', null);
  expect(describeFacts(fold.facts)).toBe('1 metro, 1 ride, 1 night, 2 riders');
});
