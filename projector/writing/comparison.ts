import { digestLength, type FactKind, factKinds } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import { LargeSet } from '../facts/large-map.ts';
import type { FieldWrite, StoredName, StoredView, ViewWrite } from '../ports/view-writer.ts';
import { renderReader } from '../views/reader.ts';
import { valueViews } from '../views/value-views.ts';
import { NumberSet } from './number-set.ts';

type StoredFields = Extract<StoredView, { kind: 'reader' }>;
type StoredValue = Exclude<StoredView, StoredFields>;

/** The number of a view, by its kind and id; of a rider for their own layer. -1 if no fact has named it. */
export function numberOf(facts: Facts, { kind, id }: Pick<StoredName, 'kind' | 'id'>): number {
  if (kind === 'reader') return facts.riderIds.find(id);
  // Another version of this software may have written kinds that this one does not know. They should not exist.
  const views = valueViews[kind as FactKind] as (typeof valueViews)[FactKind] | undefined;
  return views?.find(facts, id) ?? -1;
}

/**
 * Compares what is stored with what the facts render. A difference is said as the write that mends it: null is a view or
 * field that should not exist.
 */
export class Comparison {
  readonly #facts: Facts;
  /** What was compared, by kind: the numbers of views, and of riders for their own layers. */
  readonly #compared: Record<FactKind | 'reader', Pick<NumberSet, 'add' | 'has'>> = {
    metro: new NumberSet(),
    key: new NumberSet(),
    rider: new NumberSet(),
    reader: new NumberSet(),
    ride: new NumberSet(),
    night: new NumberSet(),
    // Pairs of metro and day are large numbers, but few.
    day: new LargeSet<number>(),
  };

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** What mends a stored view; null if it is right. */
  compare(stored: StoredView): ViewWrite | null {
    const number = numberOf(this.#facts, stored);
    if (number >= 0) this.#compared[stored.kind as FactKind | 'reader'].add(number);
    return stored.kind === 'reader' ? this.#fields(stored, number) : this.#value(stored, number);
  }

  /** What should be stored under a name where nothing is; null if that is right. */
  absent(name: StoredName): ViewWrite | null {
    const number = numberOf(this.#facts, name);
    return number < 0 ? null : this.#whole(name.kind as FactKind | 'reader', number);
  }

  /** Views of some tags that were not compared and should exist. Null now and then, for the event loop to get its turn. */
  *missing(tags: ReadonlySet<number>): Generator<[tag: number, write: ViewWrite] | null> {
    const { riders } = this.#facts;
    for (const kind of factKinds) {
      for (const view of valueViews[kind].all(this.#facts)) yield this.#missing(kind, view, tags);
    }
    for (let reader = 0; reader < riders.length; reader++) yield this.#missing('reader', reader, tags);
  }

  #missing(kind: FactKind | 'reader', view: number, tags: ReadonlySet<number>): [number, ViewWrite] | null {
    if (this.#compared[kind].has(view)) return null;
    if (kind === 'reader' && !this.#facts.riderExists(view)) return null;
    const tag = kind === 'reader' ? this.#facts.riderIds.tag(view) : valueViews[kind].tag(this.#facts, view);
    const write = tags.has(tag) ? this.#whole(kind, view) : null;
    return write && [tag, write];
  }

  #whole(kind: FactKind | 'reader', view: number): ViewWrite | null {
    const id = this.#idOf(kind, view);
    if (kind === 'reader') {
      const fields = renderReader(this.#facts, view);
      return fields.length > 0 ? { kind, id, fields } : null;
    }
    const value = valueViews[kind].render(this.#facts, view);
    return value && { kind, id, value };
  }

  #idOf(kind: FactKind | 'reader', view: number): string {
    return kind === 'reader' ? this.#facts.riderIds.text(view) : valueViews[kind].id(this.#facts, view);
  }

  #value({ kind, id, bytes, whole }: StoredValue, view: number): ViewWrite | null {
    const value = view < 0 ? null : valueViews[kind as FactKind].render(this.#facts, view);
    const wanted = whole ? value : value?.subarray(0, digestLength);
    return wanted && bytes?.equals(wanted) ? null : { kind, id, value };
  }

  #fields({ kind, id, fields }: StoredFields, reader: number): ViewWrite | null {
    const wanted = reader >= 0 ? renderReader(this.#facts, reader) : [];
    // No write can name a field that is not UTF-8.
    if (fields === null || [...fields.keys()].some((field) => field.includes('\ufffd'))) {
      return { kind, id, fields: wanted, replaces: true };
    }
    const different = wanted.filter(({ field, value }) => !fields.get(field)?.equals(Buffer.from(value!)));
    const known = new Set(wanted.map(({ field }) => field));
    const extra = [...fields.keys()].filter((field) => !known.has(field));
    const write: FieldWrite[] = [...different, ...extra.map((field) => ({ field, value: null }))];
    return write.length > 0 ? { kind, id, fields: write } : null;
  }
}
