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

const tagsTogether = 4;

/** The number of a view, by its kind and id; of a rider for their own layer. -1 if no fact has named it. */
export function numberOf(facts: Facts, { kind, id }: Pick<StoredName, 'kind' | 'id'>): number {
  // Another version of this software may have written kinds that this one does not know. They should not exist.
  const views = numberedViews[kind as FactKind] as NumberedViews | undefined;
  return views?.find(facts, id) ?? -1;
}

/** One view that is not as the facts render it: a key, or a field of a rider's hash. */
export interface Difference {
  what: 'missing' | 'extra' | 'different' | 'wrong type';
  name: StoredName;
  /** Of a rider's hash; absent: all of the key. */
  field?: string;
}

/** What differs under one name, and the write that mends it, with null for a view or field that should not exist. */
interface Found {
  write: ViewWrite;
  differences(): Difference[];
}

/** Compares what is stored with what the facts render. */
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

  /** What is wrong with a stored view; null: nothing. */
  compare(stored: StoredView): Found | null {
    const number = numberOf(this.#facts, stored);
    if (number >= 0) this.#compared.get(stored.kind)!.add(number);
    return stored.kind === 'reader' ? this.#fields(stored, number) : this.#value(stored, number);
  }

  /** What should be stored under a name where nothing is; null if that is right. */
  absent(name: StoredName): Found | null {
    const number = numberOf(this.#facts, name);
    return number < 0 ? null : this.#whole(name.tag, name.kind as FactKind | RiderKind, number);
  }

  /**
   * Views of some tags that were not compared and should exist. Null now and then, for the event loop to get its turn. It takes
   * a few tags at a time: with all, many views would wait for their tags' batches to fill, and outlive V8's young generation.
   */
  *missing(tags: readonly number[]): Generator<[tag: number, write: ViewWrite] | null> {
    let passed = 0;
    for (let i = 0; i < tags.length; i += tagsTogether) {
      const some = new Set(tags.slice(i, i + tagsTogether));
      for (const kind of numberedKinds) {
        const { all, tag: tagOf } = numberedViews[kind];
        const compared = this.#compared.get(kind)!;
        for (const view of all(this.#facts)) {
          const tag = tagOf(this.#facts, view);
          const found = some.has(tag) && !compared.has(view) ? this.#whole(tag, kind, view) : null;
          if (found) yield [tag, found.write];
          else if (passed++ % 100 === 0) yield null;
        }
      }
    }
  }

  #whole(tag: number, kind: FactKind | RiderKind, view: number): Found | null {
    const id = numberedViews[kind].id(this.#facts, view);
    const missing = { what: 'missing', name: { tag, kind, id } } as const;
    if (kind === 'reader') {
      const fields = readerViews.render(this.#facts, view);
      const differences = () => fields.map(({ field }) => ({ ...missing, field }));
      return fields.length > 0 ? { write: { kind, id, fields }, differences } : null;
    }
    const value = valueViews[kind].render(this.#facts, view);
    return value && { write: { kind, id, value }, differences: () => [missing] };
  }

  #value({ tag, kind, id, bytes, whole }: StoredValue, view: number): Found | null {
    const value = view < 0 ? null : valueViews[kind as FactKind].render(this.#facts, view);
    const wanted = whole ? value : value?.subarray(0, digestLength);
    if (wanted && bytes?.equals(wanted)) return null;
    const what = value === null ? 'extra' : bytes === null ? 'wrong type' : 'different';
    return { write: { kind, id, value }, differences: () => [{ what, name: { tag, kind, id } }] };
  }

  #fields({ tag, kind, id, fields }: StoredFields, reader: number): Found | null {
    const name = { tag, kind, id };
    const wanted = readerViews.render(this.#facts, reader);
    const replacing: ViewWrite = { kind, id, fields: wanted, replaces: true };
    if (fields === null) {
      const what = wanted.length > 0 ? 'wrong type' : 'extra';
      return { write: replacing, differences: () => [{ what, name }] };
    }
    const different = wanted.filter(({ field, value }) => !fields.get(field)?.equals(Buffer.from(value!)));
    const known = new Set(wanted.map(({ field }) => field));
    const extra = [...fields.keys()].filter((field) => !known.has(field));
    const writes: FieldWrite[] = [...different, ...extra.map((field) => ({ field, value: null }))];
    if (writes.length === 0) return null;
    const whatOf = ({ field, value }: FieldWrite) =>
      value === null ? 'extra' : fields.has(field) ? 'different' : 'missing';
    // No write can name a field that is not UTF-8.
    const isNameless = extra.some((field) => field.includes('\ufffd'));
    return {
      write: isNameless ? replacing : { kind, id, fields: writes },
      differences: () => writes.map((one) => ({ what: whatOf(one), name, field: one.field })),
    };
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
 * rendered, compared and handed over in one turn of the event loop: in order with changes that are folded and written meanwhile.
 * Resolves to how many views differ. Throws the signal's reason soon after it aborts.
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
  const differs = (tag: number, write: ViewWrite): Promise<void> | void => {
    differing += write.kind === 'reader' ? Math.max(1, write.fields.length) : 1;
    return onDifference(tag, write);
  };
  const step = (): Promise<void> | void => {
    // On an empty store this takes minutes. Stopping the projector must not wait for it.
    signal?.throwIfAborted();
    if (!turns.due()) return;
    tell();
    return turns.take();
  };
  signal?.throwIfAborted();
  for await (const one of stored) {
    views += 1;
    const found = comparison.compare(one);
    if (found) await differs(one.tag, found.write);
    await step();
  }
  for (const missing of comparison.missing(tags)) {
    if (missing) {
      views += 1;
      await differs(...missing);
    }
    await step();
  }
  tell();
  return differing;
}
