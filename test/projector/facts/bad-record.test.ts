import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { badRecord } from '../../../projector/facts/bad-record.ts';
import { badness } from '../../reference/facts.ts';
import { badKinds } from '../../support/bad-record-arb.ts';
import { goodChange } from '../../support/record-arbs.ts';

const today = 20_000;

describe('a record', () => {
  // docs/rules.md#what-is-bad, #keys, #tombstones, #time-zones, #urls, #days-and-times
  it.each(Object.entries(badKinds(today)))('is bad: %s', (_, changes) => {
    fc.assert(
      fc.property(changes, (change) => {
        expect(badRecord(change.topic, change.key, change.value)).not.toBeNull();
      }),
    );
  });

  it('is good, or bad, as the reference judges it', () => {
    const any = fc.oneof(goodChange(today), ...Object.values(badKinds(today)));
    fc.assert(
      fc.property(any, (change) => {
        expect(badRecord(change.topic, change.key, change.value) === null).toBe(badness(change) === null);
      }),
      { numRuns: 2_000 },
    );
  });

  // docs/rules.md#rejected
  it('is set aside for a reason out of a small set, which holds nothing of the record', () => {
    const reasons = new Set<string>();
    fc.assert(
      fc.property(fc.oneof(...Object.values(badKinds(today))), (change) => {
        reasons.add(badRecord(change.topic, change.key, change.value)!);
      }),
      { numRuns: 2_000 },
    );
    expect([...reasons].sort()).toEqual([
      'day outside years 0001 to 9999',
      'key disagrees with value',
      'key does not match its pattern',
      'rider related to themself',
      'time outside the day',
      'time zone is not in the IANA database',
      'url does not match its pattern',
    ]);
  });
});
