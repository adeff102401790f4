import type { Folding } from '../intake/folding.ts';
import type { ViewWrite } from '../ports/view-writer.ts';
import type { StoredFanOut } from '../position/settled-position.ts';
import type { UnreadableChanges } from '../status/unreadable-changes.ts';
import { FanOuts } from './fan-outs.ts';
import { Marking } from './marking.ts';
import { Marks, markOpenNames } from './marks.ts';

/** Views that changed facts leave to write. They are marked while a leader wants it, and forgotten when its term ends. */
export class PendingWrites {
  readonly marks = new Marks();
  readonly fanOuts: FanOuts;
  readonly marking: Marking;
  readonly #folding: Pick<Folding, 'fold' | 'barriers' | 'subscribe'>;
  readonly #changes: Pick<UnreadableChanges, 'take'>;
  #subscribed: (() => unknown)[] = [];
  /** The number of the last fan-out that `#begunFanOut` knows. */
  #known = 0;

  /** `changes`: what is marked and not readable yet. `slice` and `inlineMax`: a test has smaller ones. */
  constructor(
    folding: Pick<Folding, 'fold' | 'barriers' | 'subscribe'>,
    changes: Pick<UnreadableChanges, 'take'>,
    { slice, inlineMax }: { slice?: number; inlineMax?: number } = {},
  ) {
    const { facts } = folding.fold;
    this.#folding = folding;
    this.#changes = changes;
    this.fanOuts = new FanOuts(facts, folding.barriers, slice);
    this.marking = new Marking(facts, this.marks, this.fanOuts, inlineMax);
  }

  /** Marks what changes touch, from now on. Only these changes are measured: those before were in the log already. */
  mark(): void {
    if (this.#subscribed.length > 0) return;
    const { fold } = this.#folding;
    this.#subscribed = [
      fold.subscribe(this.marking),
      this.#folding.subscribe((batch) => this.#changes.take(batch, this.#begunFanOut())),
    ];
  }

  /** The number of the last fan-out that changes began since this was called last; 0 for none. */
  #begunFanOut(): number {
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
    const { facts } = this.#folding.fold;
    for (const [id, days] of fanOuts) {
      const rider = facts.riderIds.find(id);
      if (rider >= 0) for (const day of days) this.fanOuts.add(rider, day);
    }
    this.#known = this.fanOuts.added;
    return markOpenNames(names, facts, this.marks);
  }

  /** Marks nothing more, and forgets what is marked. */
  forget(): void {
    for (const unsubscribe of this.#subscribed) unsubscribe();
    this.#subscribed = [];
    this.marks.take();
    this.fanOuts.clear();
  }
}
