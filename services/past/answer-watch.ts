import { dayOf, subjectOf } from '../../projector/facts/facts.ts';
import type { Fold } from '../../projector/facts/fold.ts';
import { ignoreChanges, type Touched } from '../../projector/facts/touched.ts';
import { fieldsOfParts } from '../../projector/views/reader.ts';
import { valueViews } from '../../projector/views/value-views.ts';
import { Marking } from '../../projector/writing/marking.ts';
import { Marks } from '../../projector/writing/marks.ts';
import { type FactKind, factKinds, parseKey, readerKey, viewKey } from '../../schemas/views/view-keys.ts';
import type { FactsViewReader } from './facts-view-reader.ts';
import type { PastAnswers } from './past-answers.ts';

/**
 * Has the projector's own marking note what changes touch, without slices: everybody is told at once. `isPublic`: nobody is
 * told of riders' own layers.
 */
export function markChanges(fold: Fold, isPublic: boolean): Marks {
  const marks = new Marks();
  const marking = new Marking(fold.facts, marks, null);
  const publicOnly: Touched = {
    ...ignoreChanges,
    metro: (metro) => marking.metro(metro),
    ride: (ride) => marking.ride(ride),
    night: (night) => marking.night(night),
  };
  fold.touched = isPublic ? publicOnly : marking;
  return marks;
}

/**
 * Notes what an answer was made of, and says whether a change has touched it. What did not change is not rendered again:
 * the projector's marks say what did.
 */
export class AnswerWatch {
  readonly #fold: Fold;
  readonly #marks: Marks;
  readonly #reader: FactsViewReader;
  readonly #views = new Set<string>();
  readonly #fields = new Set<string>();
  /** Whose fields were read. Null: nobody's. */
  #rider: string | null = null;
  /** Keys by the numbers of views. */
  readonly #keys = Object.fromEntries(factKinds.map((kind) => [kind, new Map()])) as Record<
    FactKind,
    Map<number, string>
  >;

  constructor(fold: Fold, { reader, cache }: PastAnswers, isPublic: boolean) {
    this.#fold = fold;
    this.#reader = reader;
    this.#marks = markChanges(fold, isPublic);
    cache.onUsed = (key) => this.#views.add(key);
    reader.onFields = (key, fields) => {
      this.#rider = parseKey(key).id;
      for (const field of fields) this.#fields.add(field);
    };
  }

  /** An answer is about to be made: what the one before was made of counts no more. */
  begin(): void {
    this.#views.clear();
    this.#fields.clear();
  }

  /** Whether the changes since the last call touch what the answer was made of. */
  touched(): boolean {
    if (this.#marks.size === 0) return false;
    const { values, readerDays } = this.#marks.take();
    let touched = this.#fieldsTouched(readerDays);
    for (const kind of factKinds) for (const view of values[kind]) if (this.#viewTouched(kind, view)) touched = true;
    return touched;
  }

  #viewTouched(kind: FactKind, view: number): boolean {
    const keys = this.#keys[kind];
    let key = keys.get(view);
    if (key === undefined) {
      key = viewKey(kind, valueViews[kind].id(this.#fold.facts, view));
      keys.set(view, key);
    }
    this.#reader.viewChanged(key);
    return this.#views.has(key);
  }

  #fieldsTouched(readerDays: Marks['readerDays']): boolean {
    if (this.#rider === null) return false;
    const rider = this.#fold.facts.riderIds.find(this.#rider);
    const key = readerKey(this.#rider);
    let touched = false;
    for (const [readerDay, parts] of readerDays) {
      if (subjectOf(readerDay) !== rider) continue;
      for (const field of fieldsOfParts(dayOf(readerDay), parts)) {
        this.#reader.fieldChanged(key, field);
        if (this.#fields.has(field)) touched = true;
      }
    }
    return touched;
  }
}
