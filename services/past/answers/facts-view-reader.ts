import { hash } from 'node:crypto';
import type { ChangeListener, ViewReader } from '../../../api/ports/view-reader.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import { partOfField, type ReaderParts, renderReaderDays } from '../../../projector/views/reader.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { isCompleteKey } from '../../../schemas/views/view-keys.ts';
import { developerKeyKey, type FactKind, factKinds, parseKey } from '../../../schemas/views/view-kinds.ts';

const kinds = new Set<string>(factKinds);
const there = Buffer.from('1');

/** Which parts of which days some fields show: by day, the bits of its parts. */
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
  /** Told of each read of a rider's view: its key, and the names of the fields that are read. */
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
    const reader = this.#facts.riderIds.find(parseKey(key).id);
    const rendered = reader < 0 ? [] : renderReaderDays(this.#facts, reader, daysOf(fields));
    const found = new Map([...rendered].map(({ field, value }) => [field, value]));
    return fields.map((field) => {
      const value = found.get(field) ?? null;
      return value === null ? null : Buffer.from(value);
    });
  }

  listen(listener: ChangeListener): void {
    this.#listener = listener;
    listener.hearing(true);
  }

  changed(key: string): void {
    this.#listener?.changed(key);
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
}
