import { type MetroSketch, slugOf } from './metros.ts';
import type { Random } from './random.ts';
import words from './words.json' with { type: 'json' };

type Language = MetroSketch['language'];

/** Every secret meeting place of the simulation begins with this. Tests look for it where it must not be. */
export const secretPlaceMark = 'Lantern Gate';

export const { rideTypes } = words;

/** In a title, `{d}` stands for a district or city of the metro. */
export const rideTitle = (random: Random, language: Language, place: string): string =>
  random.pick(words.titles[language]).replace('{d}', place);

export function rideDescription(random: Random): string | null {
  if (random.chance(0.04)) return '';
  return random.chance(0.25) ? null : random.pick(words.descriptions);
}

export const cancellationReason = (random: Random, language: Language): string => random.pick(words.reasons[language]);

export const venueName = (random: Random, district: string): string => `${district} ${random.pick(words.venues)}`;

export const secretVenueName = (random: Random, district: string): string =>
  `${secretPlaceMark} ${random.int(1, 99)}, ${district}`;

/** The `index` makes the handle unique. Display names are repeated, missing or, now and then, empty. */
export function riderName(random: Random, index: number): { handle: string; name: string | null } {
  const given = random.pick(words.firstNames);
  const handle = `${slugOf(given)}-${random.pick(words.gear)}${index}`;
  if (random.chance(0.1)) return { handle, name: null };
  if (random.chance(0.02)) return { handle, name: '' };
  if (random.chance(0.15)) return { handle, name: random.chance(0.3) ? `${given} 🚲` : given };
  return { handle, name: `${given} ${random.pick(words.lastNames)}` };
}
