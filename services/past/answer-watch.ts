import type { Fold } from '../../projector/facts/fold.ts';
import { subjectOf } from '../../projector/facts/subject-day.ts';
import { ignoreChanges, type Touched } from '../../projector/facts/touched.ts';
import { valueViews } from '../../projector/views/value-views.ts';
import { FanOuts } from '../../projector/writing/fan-outs.ts';
import { Marking } from '../../projector/writing/marking.ts';
import { Marks } from '../../projector/writing/marks.ts';
import { PositionBarriers } from '../../projector/writing/position-barriers.ts';
import { topicNames } from '../../schemas/events/records.ts';
import { allTags, type FactKind, factKinds } from '../../schemas/views/view-keys.ts';
import type { FactsViewReader } from './facts-view-reader.ts';

/** The projector's own marking of what a change touches, without slices: everybody is told at once. */
export function markingOf({ facts }: Fold): { marks: Marks; marking: Marking } {
  const nowhere = Object.fromEntries(topicNames.map((topic) => [topic, []])) as never;
  const marks = new Marks();
  const fanOuts = new FanOuts(facts, new Set(allTags), new PositionBarriers(nowhere));
  return { marks, marking: new Marking(facts, marks, fanOuts, Number.POSITIVE_INFINITY) };
}

/** The same of public answers alone: of riders' own layers nobody is told. */
export function publicTouched(marking: Marking): Touched {
  return {
    ...ignoreChanges,
    metro: (metro) => marking.metro(metro),
    ride: (ride) => marking.ride(ride),
    night: (night) => marking.night(night),
  };
}

/** Notes which views an answer was made of, and says whether a change has touched one of them. */
export class AnswerWatch {
  readonly #fold: Fold;
  readonly #marks: Marks;
  readonly #asked = new Map<string, Set<string>>();
  /** Views by their numbers; those that no fact has named yet have none. */
  readonly #views = new Map<FactKind, { numbers: Set<number>; unknown: Set<string> }>();

  constructor(fold: Fold, reader: FactsViewReader, isPublic: boolean) {
    this.#fold = fold;
    const { marks, marking } = markingOf(fold);
    this.#marks = marks;
    fold.touched = isPublic ? publicTouched(marking) : marking;
    reader.onAsked = (kind, id) => this.#note(kind, id);
  }

  /** An answer is about to be made: what the one before was made of counts no more. */
  begin(): void {
    this.#asked.clear();
    this.#views.clear();
  }

  /** Whether the changes since the last call touch what the answer was made of. */
  touched(): boolean {
    if (this.#marks.size === 0) return false;
    const { values, readerDays } = this.#marks.take();
    return this.#readersTouched(readerDays) || factKinds.some((kind) => this.#valuesTouched(kind, values));
  }

  #note(kind: string, id: string): void {
    const ids = this.#asked.get(kind);
    if (ids) ids.add(id);
    else this.#asked.set(kind, new Set([id]));
  }

  #readersTouched(readerDays: Iterable<[number, unknown]>): boolean {
    const readers = this.#asked.get('reader');
    if (!readers) return false;
    const numbers = new Set([...readers].map((id) => this.#fold.facts.riderIds.find(id)));
    for (const [readerDay] of readerDays) if (numbers.has(subjectOf(readerDay))) return true;
    return false;
  }

  #valuesTouched(kind: FactKind, marked: Marks['values']): boolean {
    const asked = this.#asked.get(kind);
    if (!asked || marked[kind].size === 0) return false;
    let views = this.#views.get(kind);
    if (!views) {
      views = { numbers: new Set(), unknown: new Set(asked) };
      this.#views.set(kind, views);
    }
    for (const id of views.unknown) {
      const view = valueViews[kind].find(this.#fold.facts, id);
      if (view < 0) continue;
      views.unknown.delete(id);
      views.numbers.add(view);
    }
    for (const view of marked[kind]) if (views.numbers.has(view)) return true;
    return false;
  }
}
