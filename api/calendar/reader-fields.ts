import { dayMax, dayMin, dayText, weekOf } from '../../schemas/views/days.ts';
import { memoize } from './memoize.ts';

/**
 * The fields of a reader's hash, by kind: own nights (`o`), friends going (`f`), flagged riders going (`x`). Days and
 * weeks without a field are left out.
 */
export type ReaderFields = Record<ReaderFieldKind, ReaderField[]>;
type ReaderFieldKind = 'o' | 'f' | 'x';

export interface ReaderField {
  /** The day that it shows, or the Monday of the week. */
  first: number;
  value: Buffer;
}

/** The fields to read for some days, with their names. */
interface AskedFields {
  names: readonly string[];
  at: readonly { kind: ReaderFieldKind; first: number }[];
}

/** The fields of these kinds that show the days `from` to `to`, both included. `kinds`: such as `fx`. */
export const askedFields = (kinds: string, from: number, to: number): AskedFields => ofRange(`${kinds} ${from} ${to}`);

// Clients ask for the same ranges again and again, and each has dozens of names.
const ofRange = memoize((range): AskedFields => {
  const [kinds, from, to] = range.split(' ') as [string, string, string];
  const at = ([...kinds] as ReaderFieldKind[]).flatMap((kind) =>
    firstDays(kind, Number(from), Number(to)).map((first) => ({ kind, first })),
  );
  return { at, names: at.map(({ kind, first }) => `${kind}${dayText(first)}`) };
}, 256);

/** The days, or the Mondays of their weeks. */
function firstDays(kind: ReaderFieldKind, from: number, to: number): number[] {
  const days: number[] = [];
  const step = kind === 'f' ? 1 : 7;
  const first = Math.max(from, dayMin);
  for (let day = kind === 'f' ? first : weekOf(first); day <= Math.min(to, dayMax); day += step) days.push(day);
  return days;
}

export function readerFields({ at }: AskedFields, values: readonly (Buffer | null)[]): ReaderFields {
  const fields: ReaderFields = { o: [], f: [], x: [] };
  for (let i = 0; i < at.length; i++) {
    const value = values[i];
    if (value) fields[at[i]!.kind].push({ first: at[i]!.first, value });
  }
  return fields;
}
