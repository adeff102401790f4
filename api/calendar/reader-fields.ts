import { dayMax, dayMin, dayText, weekOf } from '../../schemas/views/days.ts';

/**
 * The fields of a reader's hash, by kind: own nights (`o`), friends going (`f`), flagged riders going (`x`). Days and
 * weeks without a field are left out.
 */
export type ReaderFields = Record<ReaderFieldKind, ReaderField[]>;
export type ReaderFieldKind = 'o' | 'f' | 'x';

export interface ReaderField {
  /** The day that it shows, or the Monday of the week. */
  first: number;
  value: Buffer;
}

/** The fields to read for some days, with their names. */
export interface AskedFields {
  names: readonly string[];
  at: readonly { kind: ReaderFieldKind; first: number }[];
}

const rangesMax = 256;

/** Names of fields, by kinds and days. Clients ask for the same ranges again and again, and each has dozens of names. */
export class FieldNames {
  readonly #ranges = new Map<string, AskedFields>();

  /** Fields of these kinds that show the days `from` to `to`, both included. */
  of(kinds: readonly ReaderFieldKind[], from: number, to: number): AskedFields {
    const range = `${kinds.join('')}${from}/${to}`;
    let asked = this.#ranges.get(range);
    if (!asked) {
      if (this.#ranges.size >= rangesMax) this.#ranges.clear();
      const at = kinds.flatMap((kind) => firstDays(kind, from, to).map((first) => ({ kind, first })));
      asked = { at, names: at.map(({ kind, first }) => `${kind}${dayText(first)}`) };
      this.#ranges.set(range, asked);
    }
    return asked;
  }
}

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
