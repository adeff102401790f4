import { factKinds, positionTag, tagOf } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import { dayOf, subjectOf } from '../facts/subject-day.ts';
import type { Position } from '../ports/event-log.ts';
import { copyPosition, type StoredPosition } from '../position.ts';
import { type ReaderParts, renderReaderDays } from '../views/reader.ts';
import { valueViews } from '../views/value-views.ts';
import type { FanOuts } from './fan-outs.ts';
import type { Marking } from './marking.ts';
import type { Marks } from './marks.ts';
import type { PositionBarriers } from './position-barriers.ts';
import type { TagLanes } from './tag-lanes.ts';
import { Turns } from './turns.ts';

export interface RoundsDeps {
  facts: Facts;
  marks: Marks;
  marking: Marking;
  fanOuts: FanOuts;
  lanes: TagLanes;
  /** The tags that this projector owns. */
  owned: ReadonlySet<number>;
  barriers: PositionBarriers;
  /** The log that the position belongs to. */
  log?: string | null;
}

/**
 * Writes marked views, in rounds. A round takes all marks, and ends when their views are written. A view marked
 * meanwhile belongs to the next round. So the position after a round is that of its start, held back only by barriers.
 */
export class Rounds {
  readonly #deps: RoundsDeps;
  readonly #turns = new Turns();

  constructor(deps: RoundsDeps) {
    this.#deps = deps;
  }

  get idle(): boolean {
    return this.#deps.marks.size === 0 && this.#deps.fanOuts.idle;
  }

  /** Writes everything marked so far. `position`: what is folded now. */
  async run(position: Position): Promise<void> {
    const { barriers, fanOuts, lanes, marking, log } = this.#deps;
    const at = copyPosition(position);
    const told = fanOuts.slice((watcher, day, bits) => marking.related(watcher, day, bits));
    barriers.begin(at);
    await this.#writeMarked();
    if (told) barriers.lift(told);
    if (!this.#deps.owned.has(positionTag)) return;
    const stored: StoredPosition = { ...barriers.settled(at), ...(log != null && { log }) };
    await lanes.add(positionTag, { kind: 'position', id: '', value: Buffer.from(JSON.stringify(stored)) });
    await lanes.drain();
  }

  async #writeMarked(): Promise<void> {
    const { values, readerDays } = this.#deps.marks.take();
    for (const kind of factKinds) await this.#writeValues(kind, values[kind]);
    // The changed views themselves are sent while the views of readers are rendered.
    this.#deps.lanes.flush();
    await this.#writeReaders(readerDays);
    await this.#deps.lanes.drain();
  }

  async #writeValues(kind: (typeof factKinds)[number], marked: Iterable<number>): Promise<void> {
    const { facts, lanes, owned } = this.#deps;
    const views = valueViews[kind];
    for (const view of marked) {
      const id = views.id(facts, view);
      const tag = tagOf(id);
      if (owned.has(tag)) await lanes.add(tag, { kind, id, value: views.render(facts, view) });
      if (this.#turns.due()) await this.#turns.take();
    }
  }

  /** Reader by reader: a reader's marked days are one write. */
  async #writeReaders(readerDays: Marks['readerDays']): Promise<void> {
    const { facts, lanes, owned } = this.#deps;
    const sorted = Float64Array.from(readerDays.keys()).sort();
    for (let i = 0; i < sorted.length; ) {
      const reader = subjectOf(sorted[i]!);
      const days = new Map<number, ReaderParts>();
      for (; i < sorted.length && subjectOf(sorted[i]!) === reader; i++) {
        days.set(dayOf(sorted[i]!), readerDays.get(sorted[i]!)!);
      }
      const id = facts.riderIds.text(reader);
      const tag = tagOf(id);
      if (owned.has(tag)) await lanes.add(tag, { kind: 'reader', id, fields: renderReaderDays(facts, reader, days) });
      if (this.#turns.due()) await this.#turns.take();
    }
  }
}
