import type { RecordInTime } from '../../../infra/archive/log/records-in-time.ts';
import type { Facts } from '../../../projector/facts/facts.ts';
import type { Fold } from '../../../projector/facts/fold.ts';
import { NumberSet } from '../../../projector/facts/large-map.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import type { MarkSink } from '../../../projector/writing/marks.ts';
import { parseKey } from '../../../schemas/views/view-kinds.ts';
import { GroupedLines, type LineGroup } from '../log/grouped-lines.ts';
import { tellTouched } from './touched-views.ts';

/** The kinds of views that public answers are made of. */
const kinds = ['metro', 'ride', 'day'] as const;
type Kind = (typeof kinds)[number];

/** Keeps which records touched which public views. A line is the record's number, in the order of taking, and its text. */
export class TouchingRecords implements MarkSink {
  readonly #facts: Facts;
  readonly #textOf: (record: RecordInTime) => string;
  readonly #lines = new GroupedLines();
  /** By the views' numbers. */
  readonly #groups: Record<Kind, Map<number, LineGroup>> = { metro: new Map(), ride: new Map(), day: new Map() };
  /** Of the views that the present record touches. */
  readonly #touched = new Set<LineGroup>();
  #listens = false;
  #taken = 0;
  readonly #seen = new NumberSet();
  /** The number of different records that were read. */
  named = 0;
  readonly values: MarkSink['values'] = {
    metro: { add: (view) => this.#touch('metro', view) },
    ride: { add: (view) => this.#touch('ride', view) },
    day: { add: (view) => this.#touch('day', view) },
    night: { add() {} },
    rider: { add() {} },
    key: { add() {} },
  };

  constructor(facts: Facts, textOf: (record: RecordInTime) => string) {
    this.#facts = facts;
    this.#textOf = textOf;
  }

  /** From now on. */
  listenTo(fold: Fold): void {
    if (!this.#listens) tellTouched(fold, this, true);
    this.#listens = true;
  }

  readerDay(): void {}

  /** Takes the record that the fold applied last. */
  take(record: RecordInTime): void {
    if (this.#touched.size === 0) return;
    this.#lines.add(`${this.#taken++} ${this.#textOf(record)}`, this.#touched);
    this.#touched.clear();
  }

  /** The texts of the records that touched any of these views, each once. */
  *of(names: ReadonlySet<string>): Generator<string> {
    const lines = [...names].flatMap((name) => this.#linesOf(name));
    // Nearly always one group: a record about a metro is rare.
    const heads = lines.map((line) => ({ line, next: line.next() }));
    for (;;) {
      let first = Number.POSITIVE_INFINITY;
      let text = '';
      for (const { next } of heads) {
        if (next.done) continue;
        const number = Number.parseInt(next.value, 10);
        if (number >= first) continue;
        first = number;
        text = next.value;
      }
      if (text === '') return;
      for (const head of heads) if (head.next.value === text) head.next = head.line.next();
      this.#count(first);
      yield text.slice(text.indexOf(' ') + 1);
    }
  }

  close(): void {
    this.#lines.close();
  }

  #touch(kind: Kind, view: number): void {
    const groups = this.#groups[kind];
    const group = groups.get(view) ?? this.#lines.group();
    groups.set(view, group);
    this.#touched.add(group);
  }

  #linesOf(name: string): Generator<string, void>[] {
    const { kind, id } = parseKey(name);
    const group = this.#groups[kind as Kind]?.get(valueViews[kind as Kind].find(this.#facts, id));
    return group ? [this.#lines.of(group)] : [];
  }

  #count(number: number): void {
    if (this.#seen.has(number)) return;
    this.#seen.add(number);
    this.named++;
  }
}
