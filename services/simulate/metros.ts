/** Metros to simulate, with the language of most of their rides' titles. The places are real, the rides are not. */
export interface MetroSketch {
  slug: string;
  name: string;
  /** A Zone or Link name of the IANA database. */
  zone: string;
  language: 'en' | 'fr' | 'es' | 'nl' | 'de' | 'pt' | 'da' | 'ja';
  districts: readonly string[];
  /** Neighbouring cities: places without districts of their own. */
  cities: readonly string[];
}

const metro = (
  slug: string,
  name: string,
  zone: string,
  language: MetroSketch['language'],
  districts: string,
  cities: string,
): MetroSketch => ({ slug, name, zone, language, districts: districts.split(', '), cities: cities.split(', ') });

/**
 * The first four are the default, and are chosen to be awkward: a Link name with a half-hour offset (Asia/Kolkata), the
 * southern hemisphere, accents, and district names that are repeated in other cities.
 */
export const metroSketches: readonly MetroSketch[] = [
  metro(
    'portland',
    'Portland',
    'America/Los_Angeles',
    'en',
    'Downtown, Old Town Chinatown, Pearl, Alberta Arts, Sellwood, St. Johns, Lents, Kenton, Richmond, Brooklyn',
    'Beaverton, Gresham, Vancouver WA',
  ),
  metro(
    'bengaluru',
    'Bengaluru',
    'Asia/Kolkata',
    'en',
    'Indiranagar, Malleshwaram, Koramangala, Richmond Town, Jayanagar, Basavanagudi, Ulsoor, Whitefield',
    'Hoskote, Ramanagara',
  ),
  metro(
    'melbourne',
    'Melbourne',
    'Australia/Melbourne',
    'en',
    'Brunswick, Fitzroy, Richmond, St Kilda, Footscray, Docklands, Chinatown, Brooklyn, Northcote',
    'Geelong, Dandenong',
  ),
  metro(
    'montreal',
    'Montréal',
    'America/Toronto',
    'fr',
    'Le Plateau, Mile End, Griffintown, Hochelaga, Verdun, Rosemont, Quartier chinois, Saint-Henri, Vieux-Montréal',
    'Longueuil, Laval, Châteauguay',
  ),
  metro(
    'amsterdam',
    'Amsterdam',
    'Europe/Amsterdam',
    'nl',
    'De Pijp, Jordaan, Oost, Noord, Centrum',
    'Haarlem, Zaandam',
  ),
  metro(
    'ciudad-de-mexico',
    'Ciudad de México',
    'America/Mexico_City',
    'es',
    'Roma Norte, Condesa, Coyoacán, Centro, Narvarte, Xochimilco',
    'Naucalpan, Ecatepec',
  ),
  metro(
    'berlin',
    'Berlin',
    'Europe/Berlin',
    'de',
    'Kreuzberg, Neukölln, Wedding, Pankow, Schöneberg, Mitte',
    'Potsdam, Bernau',
  ),
  metro(
    'st-johns',
    'St. John’s',
    'America/St_Johns',
    'en',
    'Downtown, Georgestown, Quidi Vidi, Rabbittown',
    'Mount Pearl, Paradise',
  ),
  metro(
    'adelaide',
    'Adelaide',
    'Australia/Adelaide',
    'en',
    'Norwood, Glenelg, Brooklyn Park, Richmond',
    'Gawler, Mount Barker',
  ),
  metro(
    'kobenhavn',
    'København',
    'Europe/Copenhagen',
    'da',
    'Nørrebro, Vesterbro, Østerbro, Amager, Sydhavn',
    'Roskilde, Køge',
  ),
  metro(
    'sao-paulo',
    'São Paulo',
    'America/Sao_Paulo',
    'pt',
    'Pinheiros, Vila Madalena, Centro, Mooca, Liberdade',
    'Osasco, Guarulhos',
  ),
  metro('tokyo', 'Tōkyō', 'Asia/Tokyo', 'ja', 'Shibuya, Yanaka, Nakano, Kiyosumi, Shimokitazawa', 'Yokohama, Kawasaki'),
  metro(
    'auckland',
    'Tāmaki Makaurau Auckland',
    'Pacific/Auckland',
    'en',
    'Ponsonby, Grey Lynn, Māngere, Richmond',
    'Hamilton',
  ),
  metro('kathmandu', 'Kathmandu', 'Asia/Kathmandu', 'en', 'Thamel, Patan, Boudha, Swayambhu', 'Bhaktapur, Kirtipur'),
  metro(
    'bogota',
    'Bogotá',
    'America/Bogota',
    'es',
    'La Candelaria, Chapinero, Usaquén, Centro, Teusaquillo',
    'Soacha, Chía',
  ),
  metro('lisboa', 'Lisboa', 'Europe/Lisbon', 'pt', 'Alfama, Belém, Graça, Marvila, Centro', 'Almada, Cascais'),
];

/** `montreal-le-plateau`: lower-case letters, digits and hyphens. */
export function slugOf(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/ø/gi, 'o')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
