import type { Facts } from '../../../projector/facts/facts.ts';
import type { Fold } from '../../../projector/facts/fold.ts';
import { ignoreChanges, type Touched } from '../../../projector/facts/touched.ts';
import { publishedRide } from '../../../projector/views/night.ts';
import { fieldsShowing } from '../../../projector/views/reader.ts';
import { numberedKinds, numberedViews } from '../../../projector/views/value-views.ts';
import { Marking } from '../../../projector/writing/marking.ts';
import type { MarkSink } from '../../../projector/writing/marks.ts';
import { parseKey } from '../../../schemas/views/view-kinds.ts';

/**
 * Tells from now on which views the fold's records touch, by the projector's own marking. A change to many riders is told
 * at once, not in slices. `isPublic`: riders' own views are left out.
 */
export function tellTouched(fold: Fold, sink: MarkSink, isPublic: boolean): void {
  const marking = new PublishedMarking(fold.facts, sink, null);
  const publicOnly: Touched = {
    ...ignoreChanges,
    metro: (metro) => marking.metro(metro),
    ride: (ride) => marking.ride(ride),
    night: (night) => marking.night(night),
  };
  fold.subscribe(isPublic ? publicOnly : marking);
}

/** Leaves out nights of rides that have no page: no answer shows them. A ride that comes or goes marks its nights itself. */
class PublishedMarking extends Marking {
  readonly #facts: Facts;

  constructor(...args: ConstructorParameters<typeof Marking>) {
    super(...args);
    [this.#facts] = args;
  }

  override night(night: number): void {
    if (publishedRide(this.#facts, this.#facts.nightRide[night]!)) super.night(night);
  }
}

type Kind = (typeof numberedKinds)[number];

/** The watched views of a kind. */
interface WatchedKind {
  /** Keys, by the ids of views that have no number yet: no record has named them. */
  unnumbered: Map<string, string>;
  /** Keys, by the views' numbers. Views that are no longer watched stay here. */
  byNumber: Map<number, string>;
}

/** Says whether records touch the views that an answer uses. Their names are their keys, a rider's view with the field. */
export class WatchedViews implements MarkSink {
  readonly #facts: Facts;
  readonly #changed: (key: string) => void;
  #names: ReadonlySet<string> = new Set();
  readonly #kinds = Object.fromEntries(
    numberedKinds.map((kind) => [kind, { unnumbered: new Map(), byNumber: new Map() }]),
  ) as unknown as Record<Kind, WatchedKind>;
  #isTouched = false;
  readonly values = Object.fromEntries(
    numberedKinds.map((kind) => [kind, { add: (view: number) => this.#value(kind, view) }]),
  ) as Record<Kind, { add(view: number): void }>;

  /** `changed` is called with the key of each view that is touched and was ever watched. */
  constructor(facts: Facts, changed: (key: string) => void) {
    this.#facts = facts;
    this.#changed = changed;
  }

  /** Watches these from now on, and none else. */
  watch(names: ReadonlySet<string>): void {
    for (const name of names) if (!this.#names.has(name)) this.#begin(name);
    this.#names = names;
  }

  /** Whether one was touched since the last call. */
  take(): boolean {
    const isTouched = this.#isTouched;
    this.#isTouched = false;
    return isTouched;
  }

  readerDay(reader: number, day: number, parts: number): void {
    const key = this.#keyOf('reader', reader);
    if (key === undefined) return;
    for (const field of fieldsShowing(day, parts)) this.#touch(fieldNameOf(key, field));
  }

  #value(kind: Kind, view: number): void {
    const key = this.#keyOf(kind, view);
    if (key === undefined) return;
    this.#changed(key);
    this.#touch(key);
  }

  #touch(name: string): void {
    if (this.#names.has(name)) this.#isTouched = true;
  }

  #begin(name: string): void {
    const [key] = name.split(' ', 1) as [string];
    const { kind, id } = parseKey(key);
    this.#kinds[kind as Kind]?.unnumbered.set(id, key);
  }

  /** The key of a view by its number, if it is watched. */
  #keyOf(kind: Kind, view: number): string | undefined {
    const { unnumbered, byNumber } = this.#kinds[kind];
    for (const [id, key] of unnumbered) {
      const number = numberedViews[kind].find(this.#facts, id);
      if (number < 0) continue;
      byNumber.set(number, key);
      unnumbered.delete(id);
    }
    return byNumber.get(view);
  }
}

/** The name of one field of a rider's view. A view's own name is its key. */
export const fieldNameOf = (key: string, field: string): string => `${key} ${field}`;
