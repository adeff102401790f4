import type { Facts } from '../../../projector/facts/facts.ts';
import type { Fold } from '../../../projector/facts/fold.ts';
import { LargeSet, NumberSet } from '../../../projector/facts/large-map.ts';
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
  const { facts } = fold;
  const marking = new Marking(facts, sink, null);
  const publicOnly: Touched = {
    ...ignoreChanges,
    metro: (metro) => marking.metro(metro),
    // Marks all of its nights: the facts do not say yet that a ride is posted when its record is told.
    ride: (ride) => marking.ride(ride),
    // No answer shows a night of a ride that has no page.
    night(night) {
      if (publishedRide(facts, facts.nightRide[night]!)) marking.night(night);
    },
  };
  const all: Touched = {
    ...publicOnly,
    card: (rider) => marking.card(rider),
    existence: (rider) => marking.existence(rider),
    keyHash: (hash) => marking.keyHash(hash),
    own: (rider, day) => marking.own(rider, day),
    going: (rider, day) => marking.going(rider, day),
    relation: (reader, other, before, after) => marking.relation(reader, other, before, after),
  };
  fold.subscribe(isPublic ? publicOnly : all);
}

type Kind = (typeof numberedKinds)[number];

/** The watched views of a kind. */
interface WatchedKind {
  /** Keys, by id. Views that are no longer watched stay here. */
  keys: Map<string, string>;
  /** Numbers that were compared with the ids. A view gets its number when a record first names it. */
  compared: NumberSet | LargeSet<number>;
  /** Keys, by the numbers among these that are watched. */
  byNumber: Map<number, string>;
}

/** Says who watches what records touch. Views are named as answers do: by keys, a rider's view with the field. */
export class WatchedViews<Watcher> implements MarkSink {
  readonly #facts: Facts;
  readonly #changed: (key: string) => void;
  /** By the name of a view or field. */
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #kinds = Object.fromEntries(numberedKinds.map((kind) => [kind, noneWatched(kind)])) as Record<
    Kind,
    WatchedKind
  >;
  #touched = new Set<Watcher>();
  readonly values = Object.fromEntries(
    numberedKinds.map((kind) => [kind, { add: (view: number) => this.#value(kind, view) }]),
  ) as Record<Kind, { add(view: number): void }>;

  /** `changed` is called with the key of each view that is touched and was ever watched. */
  constructor(facts: Facts, changed: (key: string) => void) {
    this.#facts = facts;
    this.#changed = changed;
  }

  /** The watcher watches these from now on, and none else of those that it watched. */
  watch(watcher: Watcher, names: ReadonlySet<string>, before: ReadonlySet<string>): void {
    for (const name of before) if (!names.has(name)) this.#watchers.get(name)!.delete(watcher);
    for (const name of names) {
      const watchers = this.#watchers.get(name) ?? this.#begin(name);
      watchers.add(watcher);
    }
  }

  /** Those whose views were touched since the last call. */
  take(): ReadonlySet<Watcher> {
    const touched = this.#touched;
    if (touched.size > 0) this.#touched = new Set();
    return touched;
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
    for (const watcher of this.#watchers.get(name) ?? []) this.#touched.add(watcher);
  }

  #begin(name: string): Set<Watcher> {
    const watchers = new Set<Watcher>();
    this.#watchers.set(name, watchers);
    const [key] = name.split(' ', 1) as [string];
    const { kind, id } = parseKey(key);
    const watched = this.#kinds[kind as Kind];
    if (!watched) return watchers;
    watched.keys.set(id, key);
    const number = numberedViews[kind as Kind].find(this.#facts, id);
    if (number >= 0) watched.byNumber.set(number, key);
    return watchers;
  }

  /** The key of a view by its number, if it is watched. */
  #keyOf(kind: Kind, view: number): string | undefined {
    const { keys, compared, byNumber } = this.#kinds[kind];
    if (keys.size === 0) return undefined;
    if (compared.has(view)) return byNumber.get(view);
    compared.add(view);
    const key = keys.get(numberedViews[kind].id(this.#facts, view));
    if (key !== undefined) byNumber.set(view, key);
    return key;
  }
}

/** Numbers of days are far apart, those of other views begin at 0. */
const noneWatched = (kind: Kind): WatchedKind => ({
  keys: new Map(),
  compared: kind === 'day' ? new LargeSet() : new NumberSet(),
  byNumber: new Map(),
});

/** The name of one field of a rider's view. A view's own name is its key. */
export const fieldNameOf = (key: string, field: string): string => `${key} ${field}`;
