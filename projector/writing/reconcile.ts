import { digestLength, type FactKind, factKinds, tagOf } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import { LargeSet } from '../facts/large-map.ts';
import type { StoredView, ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import { renderReader } from '../views/reader.ts';
import { valueViews } from '../views/value-views.ts';
import { NumberSet } from './number-set.ts';
import { Turns } from './turns.ts';

/** Receives a view that differs: the right value, just rendered. */
export type Repair = (tag: number, write: ViewWrite) => Promise<void>;

type StoredFields = Extract<StoredView, { kind: 'reader' }>;
type StoredValue = Exclude<StoredView, StoredFields>;

/**
 * One routine for every repair. It lists what a store has under some tags, compares that with what the facts render,
 * and rewrites what differs, is missing or is extra. Each view is rendered, compared and handed over in one turn of the
 * event loop, so it stays in order with changes that are folded and written meanwhile. Throws the signal's reason soon
 * after it aborts.
 */
export class Reconcile {
  readonly #facts: Facts;
  readonly #mend: Repair;
  readonly #signal: AbortSignal | null;
  readonly #turns = new Turns();
  /** What was listed, by kind: the numbers of views, and of riders for their own layers. */
  readonly #listed: Record<FactKind | 'reader', Pick<NumberSet, 'add' | 'has'>> = {
    metro: new NumberSet(),
    key: new NumberSet(),
    rider: new NumberSet(),
    reader: new NumberSet(),
    ride: new NumberSet(),
    night: new NumberSet(),
    // Pairs of metro and day are large numbers, but few.
    day: new LargeSet<number>(),
  };
  #differing = 0;
  #compared = 0;
  readonly #onCompared: (views: number) => void;

  /** `onCompared`: hears now and then how many views more were compared. */
  constructor(
    facts: Facts,
    mend: Repair,
    signal: AbortSignal | null = null,
    onCompared: (views: number) => void = () => {},
  ) {
    this.#facts = facts;
    this.#mend = mend;
    this.#signal = signal;
    this.#onCompared = onCompared;
  }

  /** Returns how many views differed. */
  async run(writer: ViewWriter, tags: readonly number[]): Promise<number> {
    for await (const stored of writer.list(tags)) {
      if (stored.kind === 'reader') await this.#compareReader(stored);
      else await this.#compareValue(stored);
      await this.#turn();
    }
    const wanted = new Set(tags);
    for (const kind of factKinds) await this.#addMissingValues(kind, wanted);
    await this.#addMissingReaders(wanted);
    this.#onCompared(this.#compared);
    return this.#differing;
  }

  async #compareValue({ tag, kind, id, digest }: StoredValue): Promise<void> {
    if (kind === 'complete') return;
    // Another version of this software may have written kinds that this one does not know. They should not exist.
    const views = valueViews[kind] as (typeof valueViews)[FactKind] | undefined;
    const view = views?.find(this.#facts, id) ?? -1;
    if (view >= 0) this.#listed[kind].add(view);
    const value = view >= 0 ? views!.render(this.#facts, view) : null;
    if (digestIn(value) !== digest) await this.#differs(tag, { kind, id, value });
  }

  async #compareReader({ tag, kind, id, fields }: StoredFields): Promise<void> {
    const reader = this.#facts.riderIds.find(id);
    if (reader >= 0) this.#listed.reader.add(reader);
    const wanted = reader >= 0 ? renderReader(this.#facts, reader) : [];
    if (fields === null) return this.#differs(tag, { kind, id, fields: wanted, replaces: true });
    const different = wanted.filter(({ field, value }) => fields.get(field)?.toString() !== value);
    const known = new Set(wanted.map(({ field }) => field));
    const extra = [...fields.keys()].filter((field) => !known.has(field)).map((field) => ({ field, value: null }));
    const write = [...different, ...extra];
    if (write.length > 0) await this.#differs(tag, { kind, id, fields: write });
  }

  async #addMissingValues(kind: FactKind, wanted: ReadonlySet<number>): Promise<void> {
    const views = valueViews[kind];
    for (const view of views.all(this.#facts)) {
      await this.#turn();
      if (this.#listed[kind].has(view)) continue;
      const id = views.id(this.#facts, view);
      const tag = tagOf(id);
      if (!wanted.has(tag)) continue;
      const value = views.render(this.#facts, view);
      if (value !== null) await this.#differs(tag, { kind, id, value });
    }
  }

  async #addMissingReaders(wanted: ReadonlySet<number>): Promise<void> {
    for (let reader = 0; reader < this.#facts.riders.length; reader++) {
      await this.#turn();
      if (this.#listed.reader.has(reader) || !this.#facts.riderExists(reader)) continue;
      const id = this.#facts.riderIds.text(reader);
      const tag = tagOf(id);
      if (!wanted.has(tag)) continue;
      const fields = renderReader(this.#facts, reader);
      if (fields.length > 0) await this.#differs(tag, { kind: 'reader', id, fields });
    }
  }

  async #differs(tag: number, write: ViewWrite): Promise<void> {
    this.#differing += write.kind === 'reader' ? Math.max(1, write.fields.length) : 1;
    await this.#mend(tag, write);
  }

  async #turn(): Promise<void> {
    // On an empty store this takes minutes. Stopping the projector must not wait for it.
    this.#signal?.throwIfAborted();
    this.#compared += 1;
    if (!this.#turns.due()) return;
    this.#onCompared(this.#compared);
    this.#compared = 0;
    await this.#turns.take();
  }
}

const digestIn = (value: Buffer | null): string => value?.toString('latin1', 0, digestLength) ?? '';
