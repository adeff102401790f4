import type { Fold } from '../facts/fold.ts';
import type { ViewWrite } from '../ports/view-writer.ts';
import type { PositionBarriers, StoredFanOut } from '../position/settled-position.ts';
import { FanOuts } from './fan-outs.ts';
import { Marking } from './marking.ts';
import { Marks, markOpenNames } from './marks.ts';

/** Views that changed facts leave to write. They are marked while a leader wants it, and forgotten when its term ends. */
export class PendingWrites {
  readonly marks = new Marks();
  readonly fanOuts: FanOuts;
  readonly marking: Marking;
  readonly #fold: Fold;
  #unsubscribe: (() => void) | null = null;
  /** The number of the last fan-out that `begunFanOut` knows. */
  #known = 0;

  /** `slice` and `inlineMax`: a test has smaller ones. */
  constructor(
    fold: Fold,
    barriers: PositionBarriers,
    { slice, inlineMax }: { slice?: number; inlineMax?: number } = {},
  ) {
    this.#fold = fold;
    this.fanOuts = new FanOuts(fold.facts, barriers, slice);
    this.marking = new Marking(fold.facts, this.marks, this.fanOuts, inlineMax);
  }

  /** Marks what changes touch, from now on. */
  begin(): void {
    this.#unsubscribe ??= this.#fold.subscribe(this.marking);
  }

  get isMarking(): boolean {
    return this.#unsubscribe !== null;
  }

  /** The number of the last fan-out that changes began since this was called last; 0 for none. */
  begunFanOut(): number {
    const { added } = this.fanOuts;
    const begun = added > this.#known ? added : 0;
    this.#known = added;
    return begun;
  }

  /**
   * Marks what the leader before may have left unfinished, or have written ahead of its position. Returns what no fact was
   * ever about, to be removed from the store: its tag and write.
   */
  takeOn(names: readonly string[], fanOuts: readonly StoredFanOut[]): [tag: number, write: ViewWrite][] {
    const { facts } = this.#fold;
    for (const [id, days] of fanOuts) {
      const rider = facts.riderIds.find(id);
      if (rider >= 0) for (const day of days) this.fanOuts.add(rider, day);
    }
    this.#known = this.fanOuts.added;
    return markOpenNames(names, facts, this.marks);
  }

  /** Marks nothing more, and forgets what is marked. */
  end(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = null;
    this.marks.take();
    this.fanOuts.clear();
  }
}
