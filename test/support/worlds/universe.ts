import { createHash } from 'node:crypto';

/** The small world that random histories play in: few ids and few texts, so that records collide. */

const dayMs = 86_400_000;
const dayOfUtc = (text: string): number => Date.parse(`${text}T00:00:00Z`) / dayMs;

/** Days that histories play around, each with its weight: a night that turns back a minute in, a day that Samoa skipped, a short year. */
export const eras: [weight: number, today: number][] = [
  // At 00:01 in St John's the clock goes back to 23:01 of the day before.
  [3, dayOfUtc('2010-11-07')],
  // There is no such day in Apia.
  [2, dayOfUtc('2011-12-30')],
  // Europe springs forward.
  [2, dayOfUtc('2026-03-29')],
  [1, dayOfUtc('0987-06-13')],
];

export const metros = ['portland', 'st-johns', 'apia', 'ktm'] as const;
export const usualZones: Record<string, string> = {
  portland: 'America/Los_Angeles',
  'st-johns': 'America/St_Johns',
  apia: 'Pacific/Apia',
  ktm: 'Asia/Katmandu',
};
export const zones = [
  ...Object.values(usualZones),
  'Pacific/Kiritimati',
  'Etc/GMT+12',
  'Asia/Calcutta',
  'Europe/Berlin',
  'UTC',
];
/** No Zone or Link names of the IANA database as spelled there. */
export const wrongZones = ['Factory', 'america/los_angeles', 'America/Los_Angeles ', '+01:00', 'Mars/Olympus', ''];

export const districts = ['alameda', 'alameda-2', 'old-town', 'beaverton', 'nowhere'] as const;
export const districtNames = ['Alameda', 'Old Town', 'Beaverton', 'Ōld Tøwn', ''];

export const riders = ['r1', 'r2', 'r3', 'R1', 'r_-by-name', 'r10'] as const;
/** Of a rider that is never published, for leaders and relations. */
export const nobody = 'nobody';
export const handles = ['ana', 'Ana', 'ána', 'bo', '～bo', '🚲bo', ''];
export const riderNames = [null, '', 'Ana', 'ANA', 'ána', 'Zoë', '🚲 Bo', '～ Bo', 'Σοφίας', 'ﬁ "quoted" \\ \u2028'];

export const rides = ['ride1', 'ride2', 'aaaa', 'zz99', 'loop0', 'loop1'] as const;
export const titles = [
  'Bike Play',
  'bike play',
  'Ｂike Play',
  '🚲 Roll',
  '～ Roll',
  'Women’s Ride',
  "Women's Ride",
  'ΟΔΟΣ Ride',
  'Café "Loop" \\ 2',
  'Łódź–Straße Æ\u00adø',
  'İstanbul Ride\u2028',
  '',
];
export const descriptions = [null, '', 'Bring lights.', 'Zwölf\nkm <b>&amp;</b> 🚲'];
export const rideTypes = ['loop', 'A to B', ''];
export const placeNames = [null, '', 'Café Früh', 'Colonel Summers Park', 'Women’s Centre', 'ﬁsh & chips', '🚲 Stand'];
/** Only ever the names of secret places: this text must be found nowhere. */
export const secretMark = 'Lantern Yard';
export const secretPlaceNames = [`${secretMark} One`, `${secretMark} Café`, null, ''];
export const reasons = [null, '', 'Thunder ⚡', 'Leader’s bike is broken'];

/** The nights that most records are about: ride and days from the day that the history plays around. */
const offsets = {
  ride1: [-1, 0, 1],
  ride2: [0, 31],
  aaaa: [0, -30, -31],
  zz99: [0, 90, 91],
  loop0: [0, 1],
  loop1: [-2],
};
export const nightSlots = Object.entries(offsets).flatMap(([ride, days]) => days.map((offset) => ({ ride, offset })));

export const keyIds = ['k1', 'k2', 'K1', 'k_-'] as const;
/** Texts of developer keys; histories hold their hashes. */
export const keyTexts = ['A', 'B', 'C'].map((letter) => `rck_${letter.repeat(43)}`);
export const keyHash = (text: string): Buffer => createHash('sha256').update(text).digest();

export const goodUrls = [
  'https://rides.example/1',
  'http://x',
  'https://rides.example/?a=1&b=%20#~!',
  "http://[::1]:80/_$(a)*+,;='@-.",
];
/** Off their pattern (docs/rules.md#urls): no http or https, or characters that RFC 3986 does not have. */
export const wrongUrls = [
  '',
  'https://',
  'ftp://x',
  'HTTPS://x',
  'https://a b',
  'https://é',
  'https://x\n',
  ' https://x',
  'https://x/"',
  'https://x/<b>',
  'https://x/\\',
  'https://x/^`{|}',
];
