import type { Facts } from '../../../projector/facts/facts.ts';
import type { Fold } from '../../../projector/facts/fold.ts';
import { NumberSet } from '../../../projector/facts/large-map.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import type { MarkSink } from '../../../projector/writing/marks.ts';
import { parseKey } from '../../../schemas/views/view-kinds.ts';
import type { RecordInTime } from '../log/records-in-time.ts';
import { tellTouched } from './touched-views.ts';

/** The kinds of views that public answers are made of. */
const kinds = ['metro', 'ride', 'day'] as const;
type Kind = (typeof kinds)[number];

/** Keeps which records touched which public views, as texts in memory. */
export class TouchingRecords implements MarkSink {
  readonly #fold: Fold;
  readonly #facts: Facts;
  readonly #textOf: (record: RecordInTime) => string;
  /** Of the records that touched some view, in the order of taking. */
  readonly #texts: string[] = [];
  /** The places of texts, by the numbers of the views that their records touched. */
  readonly #places: Record<Kind, Map<number, number[]>> = { metro: new Map(), ride: new Map(), day: new Map() };
  /** Those of the views that the present record touches. */
  readonly #touched = new Set<number[]>();
  readonly #named = new NumberSet();
  #isListening = false;
  /** The number of different records whose texts were given. */
  named = 0;
  readonly values: MarkSink['values'] = {
    metro: { add: (view) => this.#touch('metro', view) },
    ride: { add: (view) => this.#touch('ride', view) },
    day: { add: (view) => this.#touch('day', view) },
    night: { add() {} },
    rider: { add() {} },
    key: { add() {} },
  };

  constructor(fold: Fold, textOf: (record: RecordInTime) => string) {
    this.#fold = fold;
    this.#facts = fold.facts;
    this.#textOf = textOf;
  }

  /** From now on, if not yet. */
  listen(): void {
    if (!this.#isListening) tellTouched(this.#fold, this, true);
    this.#isListening = true;
  }

  readerDay(): void {}

  /** Takes the record that the fold applied last. */
  take(record: RecordInTime): void {
    if (this.#touched.size === 0) return;
    for (const places of this.#touched) places.push(this.#texts.length);
    this.#texts.push(this.#textOf(record));
    this.#touched.clear();
  }

  /** The texts of the records that touched any of these views, each once, in the order of taking. */
  of(names: ReadonlySet<string>): string[] {
    const places = new Set([...names].flatMap((name) => this.#placesOf(name)));
    for (const place of places) {
      if (!this.#named.has(place)) this.named++;
      this.#named.add(place);
    }
    return [...places].sort((a, b) => a - b).map((place) => this.#texts[place]!);
  }

  #touch(kind: Kind, view: number): void {
    const places = this.#places[kind].get(view) ?? [];
    this.#places[kind].set(view, places);
    this.#touched.add(places);
  }

  #placesOf(name: string): readonly number[] {
    const { kind, id } = parseKey(name);
    return this.#places[kind as Kind]?.get(valueViews[kind as Kind].find(this.#facts, id)) ?? [];
  }
}
