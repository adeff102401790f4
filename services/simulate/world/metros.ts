/** Metros to simulate, with the language of most of their rides' titles. The places are real, the rides are not. */
export interface MetroSketch {
  slug: string;
  name: string;
  /** A Zone or Link name of the IANA database. */
  zone: string;
  language: 'en' | 'fr';
  districts: readonly string[];
  /** Neighbouring cities: places without districts of their own. */
  cities: readonly string[];
}

/**
 * Each metro's slug, name, zone and language, then its districts and its cities. They are chosen to be awkward: a Link
 * name with a half-hour offset (Asia/Kolkata), the southern hemisphere, accents, and district names that are repeated in
 * other cities.
 */
const table = `
portland | Portland | America/Los_Angeles | en
  Downtown, Old Town Chinatown, Pearl, Alberta Arts, Sellwood, St. Johns, Lents, Kenton, Richmond, Brooklyn
  Beaverton, Gresham, Vancouver WA
bengaluru | Bengaluru | Asia/Kolkata | en
  Indiranagar, Malleshwaram, Koramangala, Richmond Town, Jayanagar, Basavanagudi, Ulsoor, Whitefield
  Hoskote, Ramanagara
melbourne | Melbourne | Australia/Melbourne | en
  Brunswick, Fitzroy, Richmond, St Kilda, Footscray, Docklands, Chinatown, Brooklyn, Northcote
  Geelong, Dandenong
montreal | Montréal | America/Toronto | fr
  Le Plateau, Mile End, Griffintown, Hochelaga, Verdun, Rosemont, Quartier chinois, Saint-Henri, Vieux-Montréal
  Longueuil, Laval, Châteauguay
`;

export const metroSketches: readonly MetroSketch[] = table
  .trim()
  .split(/\n(?=\S)/)
  .map((entry) => {
    const [head, districts, cities] = entry.split('\n').map((line) => line.trim());
    const [slug, name, zone, language] = head!.split(' | ') as [string, string, string, MetroSketch['language']];
    return { slug, name, zone, language, districts: districts!.split(', '), cities: cities!.split(', ') };
  });

/** `montreal-le-plateau`: lower-case letters, digits and hyphens. */
export const slugOf = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
