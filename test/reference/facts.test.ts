import { describe, expect, it } from 'vitest';
import { gone, marks, metro, night, on, place, ride, rider, says } from './example-log.ts';
import { badness, type LoggedRecord, latestRecords } from './facts.ts';

const day = '2015-06-13';

describe('facts', () => {
  // docs/rules.md#last-record-wins, #revision
  it('are the last record of each key, whatever its revision', () => {
    const facts = latestRecords([rider('r1', { name: 'Old', revision: 9 }), rider('r1', { name: 'New', revision: 2 })]);
    expect(facts.riders.get('r1')?.name).toBe('New');
  });

  // docs/rules.md#tombstones, #absent-references
  it('lose a key by its tombstone, and have it back when it is published again', () => {
    expect(latestRecords([rider('r1'), gone('riders', 'r1')]).riders.size).toBe(0);
    expect(latestRecords([rider('r1'), gone('riders', 'r1'), rider('r1')]).riders.size).toBe(1);
  });

  // docs/rules.md#last-good-record
  it('keep the last good record where a bad one follows', () => {
    const log = [ride('loop1', { title: 'Good' }), ride('loop1', { title: 'Bad', url: 'ftp://x' })];
    expect(latestRecords(log).rides.get('loop1')?.title).toBe('Good');
  });

  // docs/rules.md#empty-text
  it('hold a zero-length nullable text as null', () => {
    const facts = latestRecords([
      rider('r1', { name: '' }),
      ride('loop1', { description: '' }),
      night('loop1', day, { cancellation_reason: '', ...place({ place_name: '' }) }),
    ]);
    expect(facts.riders.get('r1')?.name).toBeNull();
    expect(facts.rides.get('loop1')?.description).toBeNull();
    expect(facts.nights.get(`loop1/${day}`)).toMatchObject({
      cancellation_reason: null,
      meeting: { place_name: null },
    });
  });

  // docs/rules.md#meet-time
  it('hold a meet_time without its seconds', () => {
    const facts = latestRecords([night('loop1', day, { meet_time: 68_459_999 })]);
    expect(facts.nights.get(`loop1/${day}`)?.meet_time).toBe(68_400_000);
  });
});

describe('a bad record', () => {
  const under = (record: LoggedRecord, key: string): LoggedRecord => ({ ...record, key });
  const bad: [string, LoggedRecord][] = [
    ['a key that disagrees with its value', under(rider('r1'), 'r2')],
    ['a night whose key and day disagree', under(night('loop1', day), 'loop1/2015-06-14')],
    ['an attendance of another rider than its key', under(says('r1', 'GOING', 'loop1', day), `loop1/${day}/r2`)],
    ['a metro slug of one letter', metro('a')],
    ['a metro slug in capitals', metro('PDX')],
    ['a rider id with a line feed', rider('r1\n')],
    ['a rider id of 65 letters', rider('r'.repeat(65))],
    ['a ride id of three letters', ride('abc')],
    ['a night key with a slash too many', under(night('loop1', day), `loop1/${day}/`)],
    ['a tombstone off its pattern', gone('rides', 'no')],
    ['a tombstone of a date that does not exist', gone('nights', 'loop1/2015-02-30')],
    ['the zone Factory', metro('pdx', { time_zone: 'Factory' })],
    ['a zone in another spelling', metro('pdx', { time_zone: 'america/los_angeles' })],
    ['an offset for a zone', metro('pdx', { time_zone: '+01:00' })],
    ['a rider related to themself', marks('r1', 'r1', 'follows')],
    ['a url of another scheme', ride('loop1', { url: 'ftp://x' })],
    ['a url with nothing behind its scheme', night('loop1', day, { url: 'https://' })],
    ['a url with a letter beyond ASCII', night('loop1', day, { url: 'https://é' })],
    ['a url that ends in a line feed', ride('loop1', { url: 'https://x\n' })],
    ['a day of year 0', under(night('loop1', day, { day: on('0001-01-01') - 1 }), 'loop1/0000-12-31')],
    ['a day of year 10000', under(night('loop1', day, { day: on('9999-12-31') + 1 }), 'loop1/10000-01-01')],
    ['a day that no calendar reaches', night('loop1', day, { day: 2_147_483_647 })],
    ['a day before every calendar', night('loop1', day, { day: -2_147_483_648 })],
    ['a time before midnight', night('loop1', day, { meet_time: -1 })],
    ['a time at the next midnight', night('loop1', day, { meet_time: 86_400_000 })],
  ];
  it.each(bad)('is %s', (_what, record) => {
    expect(badness(record)).not.toBeNull();
  });

  const good: [string, LoggedRecord][] = [
    ['a link for a zone', metro('pdx', { time_zone: 'Asia/Calcutta' })],
    ['a ride of an unknown metro', ride('loop1', { metro: 'Nowhere at all' })],
    ['a leader who never was', ride('loop1', { leaders: ['who?'] })],
    ['a district that never was', night('loop1', day, place({ district: 'Not A Slug' }))],
    ['the first day', night('loop1', '0001-01-01')],
    ['the last day', night('loop1', '9999-12-31')],
    ['the last millisecond of a day', night('loop1', day, { meet_time: 86_399_999 })],
    ['an id of 64 letters', rider('_-'.repeat(32))],
    ['an id of another case', marks('r1', 'R1', 'follows')],
  ];
  it.each(good)('is not %s', (_what, record) => {
    expect(badness(record)).toBeNull();
  });
});
