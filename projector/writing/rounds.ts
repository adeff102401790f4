import { dayText } from '../../schemas/views/days.ts';
import { parseKey, positionKey, readerKey, tagCount, type ViewWrite } from '../../schemas/views/view-keys.ts';
import type { Fold } from '../facts/fold.ts';
import { RiderTags } from '../facts/rider-tags.ts';
import type { Position } from '../ports/event-log.ts';
import { copyPosition, type StoredPosition } from '../position.ts';
import { renderFlagged, renderFriends, renderOwn } from '../views/reader.ts';
import { renderView } from '../views/render.ts';
import type { Hold, Holds } from './holds.ts';
import { dayOf, type ReaderDay, readerOf } from './marks.ts';
import type { TagLanes } from './tag-lanes.ts';

// How many of a rider's readers are marked between two rounds: other riders' changes wait for no more than these.
const fanOutSlice = 200;
// Rendering is synchronous: this often the event loop gets its turn.
const rendersPerTurn = 500;

interface FanOut {
  mark: ReaderDay;
  /** Readers are done tag by tag, so that a slice is a batch or two; of a tag in order of their numbers, up to `after`. */
  tag: number;
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
  readonly #tags: RiderTags;

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
    fold.marks.fanningOut = this.#fanOuts;
    this.#tags = new RiderTags(fold.facts.riderIds);
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
    await this.#write();
    if (finished) this.#holds.close(finished);
    const stored: StoredPosition = { ...this.#holds.settled(at), ...(this.#log !== null && { log: this.#log }) };
    await this.#put({ key: positionKey, value: Buffer.from(JSON.stringify(stored)) });
    await this.#lanes.drain();
  }

  async #write(): Promise<void> {
    const { facts, marks } = this.#fold;
    const { views, own, friends, flagged } = marks;
    marks.views = new Set();
    marks.own = new Set();
    marks.friends = new Set();
    marks.flagged = new Set();
    let renders = 0;
    const turn = async (): Promise<void> => {
      if (++renders % rendersPerTurn === 0) await yieldTurn();
    };
    for (const key of views) {
      if (!this.#owned.has(parseKey(key).tag)) continue;
      await this.#put({ key, value: renderView(facts, key) });
      await turn();
    }
    const fields = async (kind: string, readerDays: Set<ReaderDay>, render: typeof renderOwn): Promise<void> => {
      for (const mark of readerDays) {
        const reader = readerOf(mark);
        const day = dayOf(mark);
        const key = readerKey(facts.riderIds.text(reader));
        await this.#put({ key, field: `${kind}${dayText(day)}`, value: render(facts, reader, day) });
        await turn();
      }
    };
    await fields('o', own, renderOwn);
    // What changed itself is on its way while those who read about it are rendered.
    this.#lanes.flush();
    await fields('f', friends, renderFriends);
    await fields('x', flagged, renderFlagged);
    await this.#lanes.drain();
  }

  async #put(write: ViewWrite): Promise<void> {
    if (this.#owned.has(parseKey(write.key).tag)) await this.#lanes.add(write);
  }

  #takeFanOuts(): void {
    const { marks } = this.#fold;
    for (const mark of marks.fanOuts) {
      const running = this.#fanOuts.get(mark);
      if (!running) this.#fanOuts.set(mark, fanOut(mark, this.#holds.open()));
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
    let marked = 0;
    for (; next.tag < tagCount; next.tag++, next.after = -1) {
      if (!this.#owned.has(next.tag)) continue;
      // By number, not by index: readers may have come or gone since the last slice.
      for (let i = readers.lowerBound(rider, next.after + 1); i < length && marked < this.#sliceMax; i++) {
        next.after = readers.id(rider, i);
        if (this.#tags.of(next.after) !== next.tag) continue;
        this.#fold.markCircle(next.after, day, readers.bits(rider, i));
        marked += 1;
      }
      if (marked === this.#sliceMax) break;
    }
    this.#fanOuts.delete(next.mark);
    // Set again, it is last in turn: fan-outs share the rounds.
    if (next.tag < tagCount) this.#fanOuts.set(next.mark, next);
    else if (next.again) this.#fanOuts.set(next.mark, fanOut(next.mark, next.again));
    return next.tag < tagCount ? null : next.hold;
  }
}

const fanOut = (mark: ReaderDay, hold: Hold): FanOut => ({ mark, tag: 0, after: -1, hold, again: null });
