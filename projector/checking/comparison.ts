import type { FactKind, RiderKind } from '../../schemas/views/view-kinds.ts';
import { digestLength } from '../../schemas/views/view-values.ts';
import type { Facts } from '../facts/facts.ts';
import { LargeSet, NumberSet } from '../facts/large-map.ts';
import type { FieldWrite, StoredName, StoredView, ViewWrite } from '../ports/view-writer.ts';
import type { Clock } from '../running/clock.ts';
import { Turns } from '../running/waiting.ts';
import { type NumberedViews, numberedKinds, numberedViews, readerViews, valueViews } from '../views/value-views.ts';

type StoredFields = Extract<StoredView, { kind: 'reader' }>;
type StoredValue = Exclude<StoredView, StoredFields>;

/** The number of a view, by its kind and id; of a rider for their own layer. -1 if no fact has named it. */
export function numberOf(facts: Facts, { kind, id }: Pick<StoredName, 'kind' | 'id'>): number {
  // Another version of this software may have written kinds that this one does not know. They should not exist.
  const views = numberedViews[kind as FactKind] as NumberedViews | undefined;
  return views?.find(facts, id) ?? -1;
}

/**
 * Compares what is stored with what the facts render. Returns a difference as the write that mends it, with null for a
 * view or field that should not exist.
 */
export class Comparison {
  readonly #facts: Facts;
  /** What was compared, by kind: the numbers of views, and of riders for their own layers. */
  readonly #compared = new Map<string, Pick<NumberSet, 'add' | 'has'>>(
    // Pairs of metro and day are large numbers, but few.
    numberedKinds.map((kind) => [kind, kind === 'day' ? new LargeSet<number>() : new NumberSet()]),
  );

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  /** What mends a stored view; null if it is right. */
  compare(stored: StoredView): ViewWrite | null {
    const number = numberOf(this.#facts, stored);
    if (number >= 0) this.#compared.get(stored.kind)!.add(number);
    return stored.kind === 'reader' ? this.#fields(stored, number) : this.#value(stored, number);
  }

  /** What should be stored under a name where nothing is; null if that is right. */
  absent(name: StoredName): ViewWrite | null {
    const number = numberOf(this.#facts, name);
    return number < 0 ? null : this.#whole(name.kind as FactKind | RiderKind, number);
  }

  /** Views of some tags that were not compared and should exist. Null now and then, for the event loop to get its turn. */
  *missing(tags: ReadonlySet<number>): Generator<[tag: number, write: ViewWrite] | null> {
    for (const kind of numberedKinds) {
      for (const view of numberedViews[kind].all(this.#facts)) yield this.#missing(kind, view, tags);
    }
  }

  #missing(kind: FactKind | RiderKind, view: number, tags: ReadonlySet<number>): [number, ViewWrite] | null {
    if (this.#compared.get(kind)!.has(view)) return null;
    const tag = numberedViews[kind].tag(this.#facts, view);
    const write = tags.has(tag) ? this.#whole(kind, view) : null;
    return write && [tag, write];
  }

  #whole(kind: FactKind | RiderKind, view: number): ViewWrite | null {
    const id = numberedViews[kind].id(this.#facts, view);
    if (kind === 'reader') {
      const fields = readerViews.render(this.#facts, view);
      return fields.length > 0 ? { kind, id, fields } : null;
    }
    const value = valueViews[kind].render(this.#facts, view);
    return value && { kind, id, value };
  }

  #value({ kind, id, bytes, whole }: StoredValue, view: number): ViewWrite | null {
    const value = view < 0 ? null : valueViews[kind as FactKind].render(this.#facts, view);
    const wanted = whole ? value : value?.subarray(0, digestLength);
    return wanted && bytes?.equals(wanted) ? null : { kind, id, value };
  }

  #fields({ kind, id, fields }: StoredFields, reader: number): ViewWrite | null {
    const wanted = reader >= 0 ? readerViews.render(this.#facts, reader) : [];
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

/** Receives a view that differs: the write that mends it, just rendered. */
export type OnDifference = (tag: number, write: ViewWrite) => Promise<void> | void;

interface CompareOptions {
  signal?: AbortSignal;
  clock?: Clock;
  /** Called now and then: how many views that are stored or should be were compared since the last call. */
  onCompared?(views: number): void;
}

/**
 * Compares what is stored under some tags with what the facts render: what differs, is missing or is extra. Each view is
 * rendered, compared and handed over in one turn of the event loop, so it stays in order with changes that are folded and
 * written meanwhile. Resolves to how many views differ. Throws the signal's reason soon after it aborts.
 */
export async function compareStored(
  facts: Facts,
  stored: AsyncIterable<StoredView>,
  tags: readonly number[],
  onDifference: OnDifference,
  { signal, clock, onCompared = () => {} }: CompareOptions = {},
): Promise<number> {
  const comparison = new Comparison(facts);
  const turns = new Turns(clock);
  let differing = 0;
  let views = 0;
  const tell = (): void => {
    onCompared(views);
    views = 0;
  };
  const differs = async (tag: number, write: ViewWrite): Promise<void> => {
    differing += write.kind === 'reader' ? Math.max(1, write.fields.length) : 1;
    await onDifference(tag, write);
  };
  const step = async (): Promise<void> => {
    // On an empty store this takes minutes. Stopping the projector must not wait for it.
    signal?.throwIfAborted();
    if (!turns.due()) return;
    tell();
    await turns.take();
  };
  signal?.throwIfAborted();
  for await (const one of stored) {
    views += 1;
    const write = comparison.compare(one);
    if (write) await differs(one.tag, write);
    await step();
  }
  for (const missing of comparison.missing(new Set(tags))) {
    if (missing) {
      views += 1;
      await differs(...missing);
    }
    await step();
  }
  tell();
  return differing;
}
