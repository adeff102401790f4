import { describe, expect, it } from 'vitest';
import { metro, night, ride } from './example-log.ts';
import { latestRecords } from './facts.ts';
import { maxAge } from './max-age.ts';

const getRide = { operation: 'getRide', ride: 'loop1' } as const;
const rideOn = (dates: string[], time_zone = 'America/Los_Angeles') =>
  latestRecords([metro('pdx', { time_zone }), ride('loop1'), ...dates.map((date) => night('loop1', date))]);
const ageAt = (now: string, dates: string[], zone?: string): number =>
  maxAge(rideOn(dates, zone), Date.parse(now), getRide, 86_400);

describe('max-age', () => {
  it('ends at the next midnight that makes a night past, in whole seconds', () => {
    expect(ageAt('2015-06-14T06:00:00Z', ['2015-06-13'])).toBe(3600);
    expect(ageAt('2015-06-14T06:59:58.001Z', ['2015-06-13'])).toBe(1);
    expect(ageAt('2015-06-14T06:59:59.001Z', ['2015-06-13'])).toBe(0);
  });

  it('is not cut by a midnight that changes nothing', () => {
    expect(ageAt('2015-06-14T06:00:00Z', ['2015-06-12', '2015-06-14'])).toBe(86_400);
    expect(ageAt('2015-06-14T06:00:00Z', [])).toBe(86_400);
  });

  it('is cut by the minute in which the clock turns back over midnight', () => {
    const night = ['2010-11-06'];
    expect(ageAt('2010-11-07T02:29:00Z', night, 'America/St_Johns')).toBe(60);
    expect(ageAt('2010-11-07T02:30:30Z', night, 'America/St_Johns')).toBe(30);
    expect(ageAt('2010-11-07T02:31:00Z', night, 'America/St_Johns')).toBe(3540);
  });

  it('of a filtered day looks at the nights that are left', () => {
    const facts = rideOn(['2015-06-13']);
    const now = Date.parse('2015-06-14T06:00:00Z');
    const day = { operation: 'getDay', metro: 'pdx', day: '2015-06-13' } as const;
    expect(maxAge(facts, now, day, 86_400)).toBe(3600);
    expect(maxAge(facts, now, { ...day, q: 'no such' }, 86_400)).toBe(86_400);
  });
});
