import { expect, it } from 'vitest';
import { describeFacts } from '../../../projector/facts/facts.ts';
import { Fold } from '../../../projector/facts/fold.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import { dayText } from '../../../schemas/views/days.ts';
import { recordKey, sampleRecords } from '../../support/records.ts';

const apply = (fold: Fold, topic: TopicName, key: string, value: AnyRecord | null): void =>
  fold.apply(topic, recordKey(topic, key), value as never);

it('what was folded is told without erased riders, deleted rides, and ids that others only refer to', () => {
  const fold = new Fold();
  for (const rider of ['r1', 'r2', 'r3']) apply(fold, 'riders', rider, { ...sampleRecords.riders, rider });
  apply(fold, 'riders', 'r2', null);
  apply(fold, 'relations', 'r1/unknown', { ...sampleRecords.relations, rider: 'r1', other: 'unknown' });
  for (const ride of ['ridea', 'rideb'])
    apply(fold, 'rides', ride, { ...sampleRecords.rides, ride, leaders: ['nobody'] });
  apply(fold, 'rides', 'rideb', null);
  const night = { ...sampleRecords.nights, ride: 'ridec', day: sampleRecords.nights.day };
  apply(fold, 'nights', `ridec/${dayText(night.day)}`, night);
  apply(fold, 'attendance', `ridea/${dayText(night.day)}/r1`, {
    ...sampleRecords.attendance,
    ride: 'ridea',
    day: sampleRecords.nights.day,
    rider: 'r1',
  });
  apply(fold, 'metros', 'pdx', { ...sampleRecords.metros, metro: 'pdx' });
  apply(fold, 'metros', 'gone', null);
  expect(describeFacts(fold.facts)).toBe('1 metro, 1 ride, 1 night, 2 riders');
});
