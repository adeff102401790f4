import { parseDay } from '../../schemas/views/days.ts';
import { type FactKind, factKinds, tagOf } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import type { ViewWrite } from '../ports/view-writer.ts';
import { firstDayOf, flaggedPart, friendsPart, ownPart, type ReaderParts } from '../views/reader.ts';
import { valueViews } from '../views/value-views.ts';
import type { Marks } from '../writing/marks.ts';

const partOf: Record<string, ReaderParts> = { o: ownPart, f: friendsPart, x: flaggedPart };

/** The part and first day that a field of a rider's hash shows; null for what is no field of ours. */
export function partOfField(field: string): { part: ReaderParts; day: number } | null {
  const part = partOf[field[0] ?? ''];
  const day = parseDay(field.slice(1));
  return part === undefined || day === null || firstDayOf(part, day) !== day ? null : { part, day };
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
  if (view >= 0) marks.values[kind].add(view);
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
