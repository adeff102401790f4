import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { fieldsFault, fieldsOfKey, isKeyOf, keyFault, parseRecordKey } from '../../../schemas/events/record-keys.ts';
import type { AnyRecord, TopicName } from '../../../schemas/events/records.ts';
import { badChange } from '../../support/bad-record-arb.ts';
import { goodChange } from '../../support/record-arbs.ts';

const today = 20_000;

describe('the key of a good record', () => {
  it('is taken apart into the fields of the record, and is of that record alone', () => {
    fc.assert(
      fc.property(goodChange(today), goodChange(today), ({ topic, key, value }, other) => {
        fc.pre(value !== null && other.value !== null);
        expect(value).toMatchObject(fieldsOfKey(topic, key));
        expect(isKeyOf(topic, key, value!)).toBe(true);
        expect(fieldsFault(topic, value!)).toBeNull();
        if (other.topic === topic) expect(isKeyOf(topic, key, other.value!)).toBe(other.key === key);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a bad key', () => {
  test.each<[TopicName, string]>([
    ['nights', 'ride1'],
    ['nights', 'ride12026-01-01'],
    ['nights', 'ride1/2026-01-01/r1'],
    ['nights', 'ride1/0000-12-31'],
    ['nights', 'ride1/10000-01-01'],
    ['attendance', 'ride1/r1'],
    ['attendance', 'ride12026-01-01/r1'],
    ['attendance', 'ride1/2026-01-01r1'],
    ['attendance', 'ride1/2026-01-01/'],
    ['relations', ''],
    ['relations', '/'],
    ['relations', 'ab'],
    ['relations', 'a/'],
    ['relations', '/b'],
    ['relations', 'a//b'],
    ['riders', 'a/b'],
    ['metros', 'portland/'],
  ])('of %s: "%s" is off its pattern', (topic, key) => {
    expect(keyFault(topic, key)).toBe('key does not match its pattern');
  });

  it('that relates a rider to themself is one, whatever else it matches', () => {
    expect(parseRecordKey('relations', 'me/me')).toEqual({ fault: 'rider related to themself' });
    expect(keyFault('relations', 'me/Me')).toBeNull();
  });

  it('is never taken apart', () => {
    expect(() => fieldsOfKey('relations', 'ab')).toThrow(
      'Cannot take a key of relations apart: key does not match its pattern',
    );
  });

  it('is not of a record whose fields are empty or hold slashes, unless these fields are bad too', () => {
    const odd = fc.constantFrom('', '/', 'a', 'a/b', 'b/');
    fc.assert(
      fc.property(odd, odd, (rider, other) => {
        const record = { rider, other } as unknown as AnyRecord;
        expect(isKeyOf('relations', `${rider}/${other}`, record)).toBe(true);
        if (keyFault('relations', `${rider}/${other}`)) expect(fieldsFault('relations', record)).not.toBeNull();
      }),
    );
  });

  it('is judged the same by itself and beside a value that agrees with it', () => {
    fc.assert(
      fc.property(badChange(today), ({ topic, key, value }) => {
        fc.pre(value !== null && !('day' in value));
        if (isKeyOf(topic, key, value!)) expect(fieldsFault(topic, value!)).toBe(keyFault(topic, key));
      }),
      { numRuns: 1_000 },
    );
  });
});
