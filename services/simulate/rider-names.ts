import { slugOf } from './metros.ts';
import type { Random } from './random.ts';

const first =
  'Ada Amélie Anjali Arjun Åsa Beatriz Bo Camille Chidi Chloé Dana Devi Diego Éloïse Ezra Fatima Finn Gabriela Gus Hana Hiro Imani Ines Jamal Jo Juniper Kai Kavya Lars Léa Lía Luca Mabel Mei Miguel Nadia Nils Olu Oscar Priya Quinn Rafa Ravi Renée Rosa Søren Sunniva Tariq Tess Uma Vera Will Xochitl Yuki Zoë Zola'.split(
    ' ',
  );
const last =
  'Abara Bélanger Chen Costa D’Souza Ekström Fernandes García Hansen Iyer Jansen Kim Krishnan López Martin Müller Nakamura Nguyễn O’Brien Okafor Petit Quispe Rao Rossi Sato Shah Silva Tremblay Underhill van Dijk Wójcik Young Zhang'
    .replace('van Dijk', 'van_Dijk')
    .split(' ')
    .map((name) => name.replace('_', ' '));
const gear =
  'spokes pedal sprocket derailleur chainring freewheel bell saddle fender pannier cog rim valve crank tandem trike'.split(
    ' ',
  );

export interface RiderName {
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
