import { weekOf } from '../../schemas/views/days.ts';
import { tagOf } from '../../schemas/views/view-keys.ts';
import { type FactKind, factKinds } from '../../schemas/views/view-kinds.ts';
import type { Facts } from '../facts/facts.ts';
import { LargeMap, LargeSet } from '../facts/large-map.ts';
import { type RiderDay, type RiderNumber, subjectDay } from '../facts/numbers.ts';
import type { ViewWrite } from '../ports/view-writer.ts';
import { friendsPart, partOfField, type ReaderParts } from '../views/reader.ts';
import { type ViewNumbers, valueViews } from '../views/value-views.ts';

type Values = { readonly [K in FactKind]: LargeSet<ViewNumbers[K]> };
const emptyValues = () => Object.fromEntries(factKinds.map((kind) => [kind, new LargeSet()])) as Values;

/** Takes the views that show a changed fact. */
export interface MarkSink {
  /** Numbers of views that are one key's value, by kind. */
  readonly values: { readonly [K in FactKind]: { add(view: ViewNumbers[K]): void } };
  /** Parts of a reader's own layer on a day. */
  readerDay(reader: RiderNumber, day: number, parts: ReaderParts): void;
}

/** Views to write again. Applying a record only marks them: ten thousand changes to one night render its views once. */
export class Marks implements MarkSink {
  /** For each kind, the numbers of views that are one key's value (projector/views/value-views.ts). */
  values = emptyValues();
  /** Which parts of readers' own layers, by the first days of their fields. */
  readerDays = new LargeMap<RiderDay, ReaderParts>();

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

  /** Marks parts of a reader's own layer on a day. */
  readerDay(reader: RiderNumber, day: number, parts: ReaderParts): void {
    this.#readerField(reader, day, parts & friendsPart);
    this.#readerField(reader, weekOf(day), parts & ~friendsPart);
  }

  #readerField(reader: RiderNumber, firstDay: number, parts: ReaderParts): void {
    if (parts === 0) return;
    const mark = subjectDay(reader, firstDay);
    this.readerDays.set(mark, (this.readerDays.get(mark) ?? 0) | parts);
  }
}

const factKindSet = new Set<string>(factKinds);

/**
 * Marks views by their names in an open list (`openNames` in the port). Returns what no fact was ever about, to be
 * removed from the store: its tag and write.
 */
export function markOpenNames(names: readonly string[], facts: Facts, marks: Marks): [tag: number, write: ViewWrite][] {
  const unknown: [number, ViewWrite][] = [];
  for (const name of new Set(names)) {
    const colon = name.indexOf(':');
    const kind = name.slice(0, colon);
    const id = name.slice(colon + 1);
    if (kind === 'reader') markReader(id, facts, marks, unknown);
    else if (factKindSet.has(kind)) markValue(kind as FactKind, id, facts, marks, unknown);
  }
  return unknown;
}

function markValue(kind: FactKind, id: string, facts: Facts, marks: Marks, unknown: [number, ViewWrite][]): void {
  const view = valueViews[kind].find(facts, id);
  const marked: LargeSet<number> = marks.values[kind];
  if (view >= 0) marked.add(view);
  else unknown.push([tagOf(id), { kind, id, value: null }]);
}

/** `r1/f2015-06-13` */
function markReader(name: string, facts: Facts, marks: Marks, unknown: [number, ViewWrite][]): void {
  const slash = name.indexOf('/');
  const id = name.slice(0, slash);
  const field = name.slice(slash + 1);
  const reader = facts.riderIds.find(id);
  const at = partOfField(field);
  if (reader >= 0 && at) marks.readerDay(reader, at.day, at.part);
  else unknown.push([tagOf(id), { kind: 'reader', id, fields: [{ field, value: null }] }]);
}
