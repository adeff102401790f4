import { type MetroSketch, slugOf } from './metros.ts';
import type { Random } from './random.ts';

type Language = MetroSketch['language'];

/** The items of a list: `|` stands between them. */
const listed = (text: string): string[] => text.split('|').map((item) => item.trim());

/** `{d}` stands for a district or city of the metro. */
const titles: Record<Language, readonly string[]> = {
  en: listed(`
    Thursday Night Ride | Coffee Outside, {d} | Slow Roll: {d} | Full Moon Ride 🌕 | Kidical Mass {d} |
    Midnight Mystery Ride | Taco Tuesday Ride 🌮 | Loud & Lit | Dawn Patrol | No-Drop Gravel Social |
    Women & Enby Wrench Night, then ride | Ice Cream Crawl 🍦 {d} | Bird Watchers’ Pedal | Mural Tour of {d} |
    Naked Ride Pre-Party | Sunday Long One | Disco Trike Parade 🪩 | 100 km Before Lunch | Vegan Dosa Ride`),
  fr: listed(`
    Critique de masse – {d} | Vélo-café du jeudi | Balade des ruelles vertes | Tour la nuit à {d} 🌙 |
    Pique-nique à vélo | Les murales de {d} | Poutine et pédales | Été éternel : la boucle du canal`),
};

const descriptions: readonly string[] = [
  'An easy pace, nobody is left behind. Bring lights and a lock.',
  'About two hours with a long stop. Helmets recommended, costumes too.',
  'Rythme tranquille ; on attend tout le monde aux feux rouges.',
  'Flat route, mostly on quiet streets.\nNew riders: come ten minutes early and say hello.',
  'Bring a dish to share 🥘 and a bell to ring.',
];

const reasons: Record<Language, readonly string[]> = {
  en: listed(`
    Thunderstorm warning | The leader is ill; back next week | Smoke: the air is not fit to ride in |
    The bridge is closed for works | Too few sweeps signed up | Ice on the whole route`),
  fr: listed(`Tempête de neige ❄️ | Piste fermée pour travaux | Orage annoncé en soirée`),
};

const venues = listed(`
  Food Carts | Library steps | Boathouse | Clock Tower | Fountain | Bike Co-op | Station, north entrance |
  Skate Park | Bakery | Bandstand | Brewing Co. | Community Garden`);

/** Every secret meeting place of the simulation begins with this. Tests look for it where it must not be. */
export const secretPlaceMark = 'Lantern Gate';

export const rideTypes = ['social', 'road', 'gravel', 'family', 'training', 'touring', 'mountain'] as const;

export const rideTitle = (random: Random, language: Language, place: string): string =>
  random.pick(titles[language]).replace('{d}', place);

export function rideDescription(random: Random): string | null {
  if (random.chance(0.04)) return '';
  return random.chance(0.25) ? null : random.pick(descriptions);
}

export const cancellationReason = (random: Random, language: Language): string => random.pick(reasons[language]);

export const venueName = (random: Random, district: string): string => `${district} ${random.pick(venues)}`;

export const secretVenueName = (random: Random, district: string): string =>
  `${secretPlaceMark} ${random.int(1, 99)}, ${district}`;

const first = listed(`
  Ada | Amélie | Anjali | Arjun | Åsa | Beatriz | Bo | Camille | Chidi | Chloé | Dana | Devi | Diego | Éloïse |
  Ezra | Fatima | Finn | Gabriela | Gus | Hana | Hiro | Imani | Ines | Jamal | Jo | Juniper | Kai | Kavya |
  Lars | Léa | Lía | Luca | Mabel | Mei | Miguel | Nadia | Nils | Olu | Oscar | Priya | Quinn | Rafa | Ravi |
  Renée | Rosa | Sören | Sunniva | Tariq | Tess | Uma | Vera | Will | Xochitl | Yuki | Zoë | Zola`);
const last = listed(`
  Abara | Bélanger | Chen | Costa | D’Souza | Ekström | Fernandes | García | Hansen | Iyer | Jansen | Kim |
  Krishnan | López | Martin | Müller | Nakamura | Nguyễn | O’Brien | Okafor | Petit | Quispe | Rao | Rossi |
  Sato | Shah | Silva | Tremblay | Underhill | van Dijk | Wójcik | Young | Zhang`);
const gear = listed(`
  spokes | pedal | sprocket | derailleur | chainring | freewheel | bell | saddle | fender | pannier | cog |
  rim | valve | crank | tandem | trike`);

interface RiderName {
  handle: string;
  name: string | null;
}

/** The `index` makes the handle unique. Display names are repeated, missing or, now and then, empty. */
export function riderName(random: Random, index: number): RiderName {
  const given = random.pick(first);
  const handle = `${slugOf(given)}-${random.pick(gear)}${index}`;
  if (random.chance(0.1)) return { handle, name: null };
  if (random.chance(0.02)) return { handle, name: '' };
  if (random.chance(0.15)) return { handle, name: random.chance(0.3) ? `${given} 🚲` : given };
  return { handle, name: `${given} ${random.pick(last)}` };
}
