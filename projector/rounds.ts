import { dayText } from '../schemas/days.ts';
import { parseKey, positionKey, readerKey, type ViewWrite } from '../schemas/view-keys.ts';
import type { Position } from './event-log.ts';
import type { Fold } from './fold.ts';
import type { Hold, Holds } from './holds.ts';
import { dayOf, type ReaderDay, readerDay, readerOf } from './marks.ts';
import { copyPosition, type StoredPosition } from './position.ts';
import { renderView } from './render.ts';
import type { TagLanes } from './tag-lanes.ts';
import { renderFlagged, renderFriends, renderOwn } from './views/reader.ts';

// How many of a rider's readers are marked between two rounds: other riders' changes wait for no more than these.
const fanOutSlice = 1_000;
// Rendering is synchronous: this often the event loop gets its turn.
const rendersPerTurn = 500;

interface FanOut {
  mark: ReaderDay;
  /** Readers are listed in order of their numbers; those up to this one are done. */
  after: number;
  /** Holds the position back until every reader is written. */
  hold: Hold;
  /** Marked again while under way: runs once more from the start, for this hold. */
  again: Hold | null;
}

const yieldTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Writes what is marked, in rounds: a round takes all marks as they stand, and ends when their views are written.
 * A view marked meanwhile belongs to the next round. So the position after a round is that of its start, held back only
 * by fan-outs that are still under way.
 */
export class Rounds {
  readonly #fold: Fold;
  readonly #lanes: TagLanes;
  readonly #owned: ReadonlySet<number>;
  readonly #holds: Holds;
  readonly #sliceMax: number;
  /** Which log the position is of. */
  readonly #log: string | null;
  readonly #fanOuts = new Map<ReaderDay, FanOut>();

  constructor(
    fold: Fold,
    lanes: TagLanes,
    owned: ReadonlySet<number>,
    holds: Holds,
    { slice = fanOutSlice, log = null }: { slice?: number | undefined; log?: string | null } = {},
  ) {
    this.#log = log;
    this.#sliceMax = slice;
    this.#fold = fold;
    this.#lanes = lanes;
    this.#owned = owned;
    this.#holds = holds;
  }

  get idle(): boolean {
    return this.#fold.marks.size === 0 && this.#fold.marks.fanOuts.size === 0 && this.#fanOuts.size === 0;
  }

  /** Writes everything marked so far. `position`: what is folded now. */
  async run(position: Position): Promise<void> {
    const at = copyPosition(position);
    this.#takeFanOuts();
    const finished = this.#slice();
    this.#holds.begin(at);
    const { marks } = this.#fold;
    const views = marks.views;
    const own = marks.own;
    const circle = marks.circle;
    marks.views = new Set();
    marks.own = new Set();
    marks.circle = new Set();
    await this.#write(views, own, circle);
    if (finished) this.#holds.close(finished);
    const stored: StoredPosition = { ...this.#holds.settled(at), ...(this.#log !== null && { log: this.#log }) };
    await this.#put({ key: positionKey, value: Buffer.from(JSON.stringify(stored)) });
    await this.#lanes.drain();
  }

  async #write(views: Set<string>, own: Set<ReaderDay>, circle: Set<ReaderDay>): Promise<void> {
    const { facts } = this.#fold;
    let renders = 0;
    const turn = async (): Promise<void> => {
      if (++renders % rendersPerTurn === 0) await yieldTurn();
    };
    for (const key of views) {
      if (!this.#owned.has(parseKey(key).tag)) continue;
      await this.#put({ key, value: renderView(facts, key) });
      await turn();
    }
    for (const mark of own) {
      const reader = readerOf(mark);
      const day = dayOf(mark);
      await this.#put({
        key: this.#readerKey(reader),
        field: `o${dayText(day)}`,
        value: renderOwn(facts, reader, day),
      });
      await turn();
    }
    for (const mark of circle) {
      const reader = readerOf(mark);
      const day = dayOf(mark);
      const key = this.#readerKey(reader);
      await this.#put({ key, field: `f${dayText(day)}`, value: renderFriends(facts, reader, day) });
      await this.#put({ key, field: `x${dayText(day)}`, value: renderFlagged(facts, reader, day) });
      await turn();
    }
    await this.#lanes.drain();
  }

  #readerKey(reader: number): string {
    return readerKey(this.#fold.facts.riderIds.text(reader));
  }

  async #put(write: ViewWrite): Promise<void> {
    if (this.#owned.has(parseKey(write.key).tag)) await this.#lanes.add(write);
  }

  #takeFanOuts(): void {
    const { marks } = this.#fold;
    for (const mark of marks.fanOuts) {
      const running = this.#fanOuts.get(mark);
      if (!running) this.#fanOuts.set(mark, { mark, after: -1, hold: this.#holds.open(), again: null });
      else running.again ??= this.#holds.open();
    }
    marks.fanOuts = new Set();
  }

  /** Marks the next readers of the fan-out whose turn it is; returns its hold where these are the last. */
  #slice(): Hold | null {
    const next = this.#fanOuts.values().next().value;
    if (!next) return null;
    const rider = readerOf(next.mark);
    const day = dayOf(next.mark);
    const { readers } = this.#fold.facts;
    const length = readers.length(rider);
    // By number, not by index: readers may have come or gone since the last slice.
    const from = readers.lowerBound(rider, next.after + 1);
    const to = Math.min(from + this.#sliceMax, length);
    for (let i = from; i < to; i++) {
      next.after = readers.id(rider, i);
      this.#fold.marks.circle.add(readerDay(next.after, day));
    }
    this.#fanOuts.delete(next.mark);
    // Set again, it is last in turn: fan-outs share the rounds.
    if (to < length) this.#fanOuts.set(next.mark, next);
    else if (next.again) this.#fanOuts.set(next.mark, { mark: next.mark, after: -1, hold: next.again, again: null });
    return to < length ? null : next.hold;
  }
}
