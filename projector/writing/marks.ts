import { weekOf } from '../../schemas/views/days.ts';
import { type FactKind, factKinds } from '../../schemas/views/view-keys.ts';
import { LargeMap, LargeSet } from '../facts/large-map.ts';
import { type SubjectDay, subjectDay } from '../facts/subject-day.ts';
import { friendsPart, type ReaderParts } from '../views/reader.ts';

const emptyValues = () =>
  Object.fromEntries(factKinds.map((kind) => [kind, new LargeSet<number>()])) as Record<FactKind, LargeSet<number>>;

/** Views to write again. Applying a record only marks them: ten thousand changes to one night render its views once. */
export class Marks {
  /** For each kind, the numbers of views that are one key's value (projector/views/value-views.ts). */
  values = emptyValues();
  /** Which parts of readers' own layers, by the first days of their fields. */
  readerDays = new LargeMap<SubjectDay, ReaderParts>();

  get size(): number {
    return factKinds.reduce((size, kind) => size + this.values[kind].size, this.readerDays.size);
  }

  /** Returns all marks and clears them. */
  take(): Pick<Marks, 'values' | 'readerDays'> {
    const { values, readerDays } = this;
    this.values = emptyValues();
    this.readerDays = new LargeMap();
    return { values, readerDays };
  }

  /** Marks again what was taken. */
  putBack({ values, readerDays }: Pick<Marks, 'values' | 'readerDays'>): void {
    for (const kind of factKinds) for (const view of values[kind]) this.values[kind].add(view);
    for (const [mark, parts] of readerDays) this.readerDays.set(mark, (this.readerDays.get(mark) ?? 0) | parts);
  }

  /** Marks parts of a reader's own layer on a day. */
  readerDay(reader: number, day: number, parts: ReaderParts): void {
    this.#readerField(reader, day, parts & friendsPart);
    this.#readerField(reader, weekOf(day), parts & ~friendsPart);
  }

  #readerField(reader: number, firstDay: number, parts: ReaderParts): void {
    if (parts === 0) return;
    const mark = subjectDay(reader, firstDay);
    this.readerDays.set(mark, (this.readerDays.get(mark) ?? 0) | parts);
  }
}
