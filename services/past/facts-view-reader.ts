import type { ChangeListener, ViewReader } from '../../api/ports/view-reader.ts';
import type { Facts } from '../../projector/facts/facts.ts';
import { partOfField } from '../../projector/leading/open-names.ts';
import { type ReaderParts, renderReaderDays } from '../../projector/views/reader.ts';
import { valueViews } from '../../projector/views/value-views.ts';
import { developerKeyKey, type FactKind, factKinds, isCompleteKey, parseKey } from '../../schemas/views/view-keys.ts';

const kinds = new Set<string>(factKinds);
const there = Buffer.from('1');

/** What fields show, by their names. */
function daysOf(fields: readonly string[]): Map<number, ReaderParts> {
  const days = new Map<number, ReaderParts>();
  for (const field of fields) {
    const at = partOfField(field);
    if (at) days.set(at.day, (days.get(at.day) ?? 0) | at.part);
  }
  return days;
}

/** Views of facts in this process, rendered on demand. Nothing is stored, so nothing has to be written first. */
export class FactsViewReader implements ViewReader {
  readonly #facts: Facts;
  /** The key of this process, which is live whatever the facts say. */
  readonly #ownKey: string;
  #listener: ChangeListener | null = null;
  /** Called for each view that is read. */
  onAsked: ((kind: string, id: string) => void) | null = null;

  constructor(facts: Facts, ownKeyHash: string) {
    this.#facts = facts;
    this.#ownKey = developerKeyKey(ownKeyHash);
  }

  async get(keys: readonly string[]): Promise<(Buffer | null)[]> {
    return keys.map((key) => this.#view(key));
  }

  async fields(key: string, fields: readonly string[]): Promise<(Buffer | null)[]> {
    const { id } = parseKey(key);
    this.onAsked?.('reader', id);
    const reader = this.#facts.riderIds.find(id);
    const rendered = reader < 0 ? [] : renderReaderDays(this.#facts, reader, daysOf(fields));
    const values = new Map(rendered.map(({ field, value }) => [field, value]));
    return fields.map((field) => {
      const value = values.get(field);
      return value == null ? null : Buffer.from(value);
    });
  }

  watch(listener: ChangeListener): void {
    this.#listener = listener;
    listener.hearing(true);
  }

  /** The facts changed, so earlier results are invalid. */
  changed(): void {
    this.#listener?.allChanged();
  }

  async ready(): Promise<{ ready: true }> {
    return { ready: true };
  }

  async close(): Promise<void> {}

  #view(key: string): Buffer | null {
    if (isCompleteKey(key) || key === this.#ownKey) return there;
    const { kind, id } = parseKey(key);
    if (!kinds.has(kind)) return null;
    this.onAsked?.(kind, id);
    const views = valueViews[kind as FactKind];
    const view = views.find(this.#facts, id);
    return view < 0 ? null : views.render(this.#facts, view);
  }
}
