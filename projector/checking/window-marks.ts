import type { FactKind } from '../../schemas/views/view-kinds.ts';
import type { Facts } from '../facts/facts.ts';
import type { LargeSet } from '../facts/large-map.ts';
import { type RiderNumber, subjectDay } from '../facts/numbers.ts';
import { ignoreChanges, type Touched, tellAll } from '../facts/touched.ts';
import type { StoredFanOut } from '../position/settled-position.ts';
import { firstDayOf, partOfField } from '../views/reader.ts';
import { Marking } from '../writing/marking.ts';
import { Marks } from '../writing/marks.ts';
import { type Difference, numberOf } from './comparison.ts';

/** Marks the views that changes touch within a window of the log, by the very rules by which a leader writes them. */
export class WindowMarks {
  /** What listens to the fold. */
  readonly listener: Touched;
  readonly #facts: Facts;
  readonly #marks = new Marks();
  /** Readers whose relations changed. A leader writes a fan-out's days to them at once, also to one who just unfollowed. */
  readonly #relating = new Set<RiderNumber>();

  constructor(facts: Facts) {
    this.#facts = facts;
    // Watchers are marked at once, however many: nothing waits behind them here.
    const marking = new Marking(facts, this.#marks, null);
    this.listener = tellAll([marking, { ...ignoreChanges, relation: (reader) => this.#relating.add(reader) }]);
  }

  begin(): void {
    this.#marks.take();
    this.#relating.clear();
  }

  /** Whether a change within the window touches what differs. */
  isMarked({ name, field }: Difference): boolean {
    if (name.kind !== 'reader') {
      const number = numberOf(this.#facts, name);
      const marked: LargeSet<number> = this.#marks.values[name.kind as FactKind];
      return number >= 0 && marked.has(number);
    }
    const reader = this.#facts.riderIds.find(name.id);
    const at = partOfField(field ?? '');
    if (!at) return false;
    return ((this.#marks.readerDays.get(subjectDay(reader, at.day)) ?? 0) & at.part) !== 0;
  }

  /** Whether what differs shows a rider whose fan-out is still under way. */
  isAwaited({ name, field }: Difference, fanOuts: readonly StoredFanOut[]): boolean {
    const reader = this.#facts.riderIds.find(name.id);
    const at = partOfField(field ?? '');
    if (!at) return false;
    return fanOuts.some(([id, days]) => {
      const rider = this.#facts.riderIds.find(id);
      if (rider < 0 || !days.some((day) => firstDayOf(at.part, day) === at.day)) return false;
      return this.#relating.has(reader) || this.#facts.relations.get(reader, rider) !== 0;
    });
  }
}
