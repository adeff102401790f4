import metros from './metros.json' with { type: 'json' };

/** A metro to simulate. The places are real, the rides are not. */
export interface MetroSketch {
  slug: string;
  name: string;
  /** A Zone or Link name of the IANA database. */
  zone: string;
  /** Of most of its rides' titles. */
  language: 'en' | 'fr';
  districts: readonly string[];
  /** Neighbouring cities: places without districts of their own. */
  cities: readonly string[];
}

/**
 * They are chosen to be awkward: a Link name with a half-hour offset (Asia/Kolkata), the southern hemisphere, accents, and
 * district names that are repeated in other cities.
 */
export const metroSketches = metros as readonly MetroSketch[];

/** `montreal-le-plateau`: lower-case letters, digits and hyphens. */
export const slugOf = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
