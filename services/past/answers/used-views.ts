import { dayOf, subjectOf } from '../../../projector/facts/facts.ts';
import type { Fold } from '../../../projector/facts/fold.ts';
import { ignoreChanges, type Touched } from '../../../projector/facts/touched.ts';
import { fieldsOfParts } from '../../../projector/views/reader.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { Marking } from '../../../projector/writing/marking.ts';
import { Marks } from '../../../projector/writing/marks.ts';
import { readerKey } from '../../../schemas/views/reader-fields.ts';
import { viewKey } from '../../../schemas/views/view-keys.ts';
import { type FactKind, factKinds } from '../../../schemas/views/view-kinds.ts';
import type { PastAnswers } from './past-answers.ts';

/** A view by its key, or one field of a rider's view. */
export interface ViewPart {
  key: string;
  field: string | null;
}

const nameOf = ({ key, field }: ViewPart): string => (field === null ? key : `${key} ${field}`);

/** Notes the views that an answer is made of. */
export class UsedViews {
  readonly #names = new Set<string>();

  constructor({ reader, cache }: PastAnswers) {
    cache.onUsed = (key) => this.#names.add(nameOf({ key, field: null }));
    reader.onFields = (key, fields) => {
      for (const field of fields) this.#names.add(nameOf({ key, field }));
    };
  }

  /** Call it before an answer is made: it forgets the views of the answer before. */
  begin(): void {
    this.#names.clear();
  }

  has(part: ViewPart): boolean {
    return this.#names.has(nameOf(part));
  }

  /** Keys of views. Of a rider's view, with the field. */
  [Symbol.iterator](): Iterator<string> {
    return this.#names.values();
  }
}

/**
 * Says which views records touch, by the projector's own marking. A change to many riders is marked at once, not in
 * slices.
 */
export class TouchedViews {
  readonly #fold: Fold;
  readonly #marks = new Marks();
  /** The views' keys, by kind and number. */
  readonly #keys = Object.fromEntries(factKinds.map((kind) => [kind, new Map()])) as Record<
    FactKind,
    Map<number, string>
  >;

  /** `isPublic`: riders' own views are not marked. */
  constructor(fold: Fold, isPublic: boolean) {
    this.#fold = fold;
    const marking = new Marking(fold.facts, this.#marks, null);
    const publicOnly: Touched = {
      ...ignoreChanges,
      metro: (metro) => marking.metro(metro),
      ride: (ride) => marking.ride(ride),
      night: (night) => marking.night(night),
    };
    fold.subscribe(isPublic ? publicOnly : marking);
  }

  /** The views touched since the last call. Of riders' views, only this rider's. */
  take(rider: string | null): ViewPart[] {
    if (this.#marks.size === 0) return [];
    const { values, readerDays } = this.#marks.take();
    const parts = rider === null ? [] : this.#fieldsOf(rider, readerDays);
    for (const kind of factKinds) {
      for (const view of values[kind]) parts.push({ key: this.#keyOf(kind, view), field: null });
    }
    return parts;
  }

  #keyOf(kind: FactKind, view: number): string {
    const keys = this.#keys[kind];
    let key = keys.get(view);
    if (key === undefined) {
      key = viewKey(kind, valueViews[kind].id(this.#fold.facts, view));
      keys.set(view, key);
    }
    return key;
  }

  #fieldsOf(riderId: string, readerDays: Marks['readerDays']): ViewPart[] {
    const rider = this.#fold.facts.riderIds.find(riderId);
    const key = readerKey(riderId);
    const found: ViewPart[] = [];
    for (const [readerDay, parts] of readerDays) {
      if (subjectOf(readerDay) !== rider) continue;
      for (const field of fieldsOfParts(dayOf(readerDay), parts)) found.push({ key, field });
    }
    return found;
  }
}
