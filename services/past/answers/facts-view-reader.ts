import { hash } from 'node:crypto';
import type { ChangeListener, ViewReader } from '../../../api/ports/view-reader.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { partOfField, type ReaderParts, renderReaderDays } from '../../../projector/views/reader.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { isCompleteKey } from '../../../schemas/views/view-keys.ts';
import { developerKeyKey, type FactKind, factKinds, parseKey } from '../../../schemas/views/view-kinds.ts';

/** A rider's view as it was rendered, by field. Null: the view has no such field. */
type Fields = Map<string, Buffer | null>;
const fieldsMax = 10_000;

const kinds = new Set<string>(factKinds);
const there = Buffer.from('1');

/** The content of fields, by name. */
function daysOf(fields: readonly string[]): Map<number, ReaderParts> {
  const days = new Map<number, ReaderParts>();
  for (const field of fields) {
    const at = partOfField(field);
    if (at) days.set(at.day, (days.get(at.day) ?? 0) | at.part);
  }
  return days;
}

/** Reads views from facts in this process. Each is rendered when it is asked for, and none is stored. */
export class FactsViewReader implements ViewReader {
  readonly #facts: Facts;
  /** The view of this process's own developer key, which is live whatever the facts say. */
  readonly #ownKey: string;
  #listener: ChangeListener | null = null;
  /** The fields of the last rider asked for. A history asks for the same rider again and again. */
  #fieldsOf: { key: string; fields: Fields } = { key: '', fields: new Map() };
  /** Called with the names of a reader's fields that are read. */
  onFields: ((key: string, fields: readonly string[]) => void) | null = null;

  constructor(facts: Facts, developerKey: string) {
    this.#facts = facts;
    this.#ownKey = developerKeyKey(hash('sha256', developerKey, 'hex'));
  }

  async get(keys: readonly string[]): Promise<(Buffer | null)[]> {
    return keys.map((key) => this.#view(key));
  }

  async fields(key: string, fields: readonly string[]): Promise<(Buffer | null)[]> {
    this.onFields?.(key, fields);
    const kept = this.#keptFields(key);
    const missing = fields.filter((field) => !kept.has(field));
    if (missing.length > 0) this.#render(key, missing, kept);
    return fields.map((field) => kept.get(field) ?? null);
  }

  listen(listener: ChangeListener): void {
    this.#listener = listener;
    listener.hearing(true);
  }

  /** One view changed, or one field of a reader. */
  partChanged({ key, field }: { key: string; field: string | null }): void {
    if (field === null) this.#listener?.changed(key);
    else if (this.#fieldsOf.key === key) this.#fieldsOf.fields.delete(field);
  }

  async ready(): Promise<{ ready: true }> {
    return { ready: true };
  }

  async close(): Promise<void> {}

  #view(key: string): Buffer | null {
    if (isCompleteKey(key) || key === this.#ownKey) return there;
    const { kind, id } = parseKey(key);
    if (!kinds.has(kind)) return null;
    const views = valueViews[kind as FactKind];
    const view = views.find(this.#facts, id);
    return view < 0 ? null : views.render(this.#facts, view);
  }

  #keptFields(key: string): Fields {
    if (this.#fieldsOf.key !== key || this.#fieldsOf.fields.size > fieldsMax)
      this.#fieldsOf = { key, fields: new Map() };
    return this.#fieldsOf.fields;
  }

  #render(key: string, names: readonly string[], into: Fields): void {
    for (const name of names) into.set(name, null);
    const reader = this.#facts.riderIds.find(parseKey(key).id);
    if (reader < 0) return;
    for (const { field, value } of renderReaderDays(this.#facts, reader, daysOf(names))) {
      into.set(field, value == null ? null : Buffer.from(value));
    }
  }
}
