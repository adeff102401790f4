import { type FactKind, factKinds } from '../../schemas/views/view-keys.ts';
import { type SubjectDay, subjectDay } from '../facts/subject-day.ts';
import type { ReaderParts } from '../views/reader.ts';

const emptyValues = () =>
  Object.fromEntries(factKinds.map((kind) => [kind, new Set<number>()])) as Record<FactKind, Set<number>>;

/** Views to write again. Applying a record only marks: ten thousand changes to one night render its views once. */
export class Marks {
  /** By kind, the numbers of views whose value is one key (projector/views/value-views.ts). */
  values = emptyValues();
  /** Which parts of which days of a reader's own layer. */
  readerDays = new Map<SubjectDay, ReaderParts>();

  get size(): number {
    return factKinds.reduce((size, kind) => size + this.values[kind].size, this.readerDays.size);
  }

  /** All marks as they stand; from now on there are none. */
  take(): Pick<Marks, 'values' | 'readerDays'> {
    const { values, readerDays } = this;
    this.values = emptyValues();
    this.readerDays = new Map();
    return { values, readerDays };
  }

  /** Marks parts of a reader's own layer on a day. */
  readerDay(reader: number, day: number, parts: ReaderParts): void {
    if (parts === 0) return;
    const mark = subjectDay(reader, day);
    this.readerDays.set(mark, (this.readerDays.get(mark) ?? 0) | parts);
  }
}
