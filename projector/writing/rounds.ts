import { tagOf } from '../../schemas/views/view-keys.ts';
import { factKinds } from '../../schemas/views/view-kinds.ts';
import type { Facts } from '../facts/facts.ts';
import type { LargeSet } from '../facts/large-map.ts';
import { dayOf, inOrder, subjectOf } from '../facts/numbers.ts';
import type { Position } from '../ports/event-log.ts';
import { copyPosition } from '../position/position.ts';
import type { PositionBarriers, StoredPosition } from '../position/settled-position.ts';
import { Turns } from '../running/waiting.ts';
import { type ReaderParts, renderReaderDays } from '../views/reader.ts';
import { valueViews } from '../views/value-views.ts';
import type { Marks } from './marks.ts';
import type { PendingWrites } from './pending-writes.ts';
import type { TagLanes } from './tag-lanes.ts';

interface RoundsDeps {
  facts: Facts;
  pending: PendingWrites;
  lanes: Pick<TagLanes, 'clock' | 'round' | 'settled' | 'lane' | 'add' | 'flush' | 'drain'>;
  barriers: PositionBarriers;
  /** Which log it is; null where that is not known. */
  identity: string | null;
  /** What is stored beside the position of bad records. Absent: nothing. */
  rejects?: { readonly ofUnknownSchemas: number };
  /** Where the log began as the facts were folded. */
  begin?: Position;
}

/**
 * Writes what is marked, in rounds. A round takes all marks as they stand, and ends when their views are written. A view marked
 * meanwhile belongs to the next round. So the position after a round is that of its start, kept back only by its barriers. Views
 * of a tag that does not answer stay marked: the round writes the others.
 */
export class Rounds {
  readonly #deps: RoundsDeps;
  readonly #turns: Turns;
  #leftOver = false;
  /** The first round of this term. */
  #firstRound = Number.POSITIVE_INFINITY;
  /** Up to where everything is written, all watchers' views too (docs/rules.md#readable). Null: not known. */
  written: Position | null = null;

  constructor(deps: RoundsDeps) {
    this.#deps = deps;
    this.#turns = new Turns(deps.lanes.clock);
  }

  get idle(): boolean {
    const { marks, fanOuts } = this.#deps.pending;
    return marks.size === 0 && fanOuts.idle;
  }

  /** Writes everything marked so far. `position`: what is folded now. False where a tag did not answer. */
  async run(position: Position): Promise<boolean> {
    const { barriers, pending, lanes, facts, identity, begin, rejects } = this.#deps;
    const { fanOuts, marking, marks } = pending;
    const finished = fanOuts.slice((watcher, day, bits) => marking.related(watcher, day, bits));
    const start = barriers.begin(copyPosition(position), facts.sum.text);
    lanes.round = start.round;
    this.#firstRound = Math.min(this.#firstRound, start.round);
    this.#leftOver = false;
    await this.#writeTaken(marks.take());
    const all = (await lanes.drain()) && !this.#leftOver;
    if (finished) barriers.lift(finished);
    // No position to store: a tag that answers again might store it before the next round writes what this one left.
    if (!all) return false;
    const settled = barriers.settled(start, { fanOutsStored: fanOuts.storable });
    const readable = barriers.settled(start, { fanOutsStored: false });
    // Where fan-outs began that the leader before left is not known.
    this.written = readable.round < this.#firstRound ? null : readable.position;
    // A barrier is older than this term, so the stored position stays, and the open lists with it.
    if (settled.round < this.#firstRound) return true;
    const { position: at, sum } = settled;
    const { ofUnknownSchemas } = rejects ?? {};
    const stored = {
      ...{ log: identity, position: at, sum, fanOuts: fanOuts.storable ? fanOuts.stored() : [], ofUnknownSchemas },
      ...(begin && { begin }),
      ...(readable !== settled && { readable: this.written }),
    };
    lanes.settled = { start: settled, text: JSON.stringify(stored satisfies StoredPosition) };
    return true;
  }

  async #writeTaken({ values, readerDays }: ReturnType<Marks['take']>): Promise<void> {
    for (const kind of factKinds) await this.#writeValues(kind, values[kind]);
    // The public views are sent while riders' own layers are still being rendered.
    this.#deps.lanes.flush();
    await this.#writeReaders(readerDays);
  }

  async #writeValues(kind: (typeof factKinds)[number], marked: Iterable<number>): Promise<void> {
    const { facts, lanes } = this.#deps;
    const views = valueViews[kind];
    const left: LargeSet<number> = this.#deps.pending.marks.values[kind];
    for (const view of marked) {
      const id = views.id(facts, view);
      const tag = tagOf(id);
      if (lanes.lane(tag).away) {
        left.add(view);
        this.#leftOver = true;
      } else await lanes.add(tag, { kind, id, value: views.render(facts, view) });
      if (this.#turns.due()) await this.#turns.take();
    }
  }

  /** Reader by reader: a reader's marked days are one write. */
  async #writeReaders(readerDays: Marks['readerDays']): Promise<void> {
    const { facts, lanes } = this.#deps;
    const sorted = inOrder(readerDays.keys());
    for (let i = 0; i < sorted.length; ) {
      const reader = subjectOf(sorted[i]!);
      const days = new Map<number, ReaderParts>();
      for (; i < sorted.length && subjectOf(sorted[i]!) === reader; i++) {
        days.set(dayOf(sorted[i]!), readerDays.get(sorted[i]!)!);
      }
      const id = facts.riderIds.text(reader);
      const tag = tagOf(id);
      if (lanes.lane(tag).away) {
        for (const [day, parts] of days) this.#deps.pending.marks.readerDay(reader, day, parts);
        this.#leftOver = true;
      } else await lanes.add(tag, { kind: 'reader', id, fields: renderReaderDays(facts, reader, days) });
      if (this.#turns.due()) await this.#turns.take();
    }
  }
}
