import { describe, expect, it } from 'vitest';
import { district, metro, night, place, ride } from '../reference/example-log.ts';
import { nightsOn } from './answerers.ts';

/** One small example for each rule of searching a day, as in calendar.test.ts. */

const day = '2015-06-13';
const pdx = metro('pdx');
const rides = (nights: { ride: string }[]): string[] => nights.map((found) => found.ride);

// docs/rules.md#q, #folded-text
describe('q', () => {
  const finds = async (title: string, q: string, where: Parameters<typeof place>[0] = {}): Promise<boolean> =>
    (await nightsOn([pdx, ride('loop1', { title }), night('loop1', day, place(where))], day, { q })).length > 0;

  // Every character is in test/schemas/views/text.test.ts.
  it.each<[q: string, title: string, found?: boolean]>([
    ['café', 'CAFE\u0301 RIDE'],
    ["women's", 'Women’s ride'],
    ['ride-café!', 'Café ride'],
    ['rock n roll', "Rock 'n' Roll"],
    ['bobs anns', "Bob's and Ann's ride"],
    ['kobenhavn', 'København'],
    ['STRAẞE', 'Strasse'],
    ['οδος', 'ΟΔΟΣ'],
    ['mid\u200dsummer', 'Mid\u00adsummer'],
    // Without a word it finds all nights.
    ["  🚲?'’", 'Ride'],
    // It needs what people type for a letter, not part of it.
    ['strase', 'Straße', false],
    ['boen', 'Bøn', false],
    ['route 66', 'Route 67', false],
  ])('%s finds %s: %s', async (q, title, found = true) => expect(await finds(title, q)).toBe(found));

  it('needs every word, each in the title or the place, and never finds a word across both', async () => {
    for (const [q, found] of Object.entries({ 'cafe park': true, 'cafe park zoo': false, ridebig: false }))
      expect([q, await finds('Café ride', q, { place_name: 'Big Park' })]).toEqual([q, found]);
  });

  // docs/rules.md#secret-meeting
  it('never finds a secret place', async () => {
    expect(await finds('Ride', 'lantern', { place_name: 'Lantern Yard', secret: true })).toBe(false);
    expect(await finds('Ride', 'lantern', { place_name: 'Lantern Yard' })).toBe(true);
  });
});

// docs/rules.md#filters, #far, #who, #where, #plus-sign
describe('filters', () => {
  const log = [
    pdx,
    district('alameda'),
    district('alameda-2'),
    district('town', { kind: 'CITY' }),
    ride('near', { distance: 'UNDER_5', audience: 'ADULTS_21_PLUS' }),
    ride('farr', { distance: 'OVER_40', audience: 'GENERAL' }),
    ride('open'),
    night('near', day, place({ district: 'alameda' })),
    night('farr', day, place({ district: 'alameda-2' })),
    night('open', day, place({ district: 'alameda', secret: true, show_neighbourhood: true })),
    ride('city'),
    night('city', day, place({ district: 'town' })),
  ];
  it.each([
    [{ far: 'under_5' }, ['city', 'near', 'open']],
    [{ far: 'over_40,under_5' }, ['city', 'farr', 'near', 'open']],
    [{ far: '5_to_10' }, ['city', 'open']],
    [{ who: '21+ Only' }, ['city', 'near', 'open']],
    [{ who: 'Family Friendly' }, ['city', 'open']],
    [{ who: 'General', far: 'under_5' }, ['city', 'open']],
    [{ where: 'alameda' }, ['near']],
    [{ where: 'alameda,alameda-2' }, ['farr', 'near']],
    [{ where: 'town' }, []],
    [{ where: 'nowhere' }, []],
  ])('%j', async (filters, found) => expect(rides(await nightsOn(log, day, filters))).toEqual(found));
});
