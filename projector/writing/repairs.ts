import { completeKey } from '../../schemas/views/view-keys.ts';
import type { Fold } from '../facts/fold.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { type InsistDeps, insist } from '../waiting/insist.ts';
import type { Holds } from './holds.ts';
import { Reconcile } from './reconcile.ts';
import type { TagLanes } from './tag-lanes.ts';

export interface RepairsDeps extends InsistDeps {
  fold: Fold;
  writer: ViewWriter;
  lanes: TagLanes;
  holds: Holds;
  metrics: ProjectorMetrics;
  /** Tags this projector owns. */
  tags: readonly number[];
  /** Writes everything marked so far. */
  round: () => Promise<void>;
}

/**
 * Compares and mends tags, and says that they are complete (docs/rules.md#complete): all of them at the start, later
 * those that are lost.
 */
export class Repairs {
  readonly #deps: RepairsDeps;
  readonly #lost = new Set<number>();

  constructor(deps: RepairsDeps) {
    this.#deps = deps;
  }

  /** The store lost or changed something of this tag. */
  lose(tag: number): void {
    this.#lost.add(tag);
  }

  get needed(): boolean {
    return this.#lost.size > 0;
  }

  /** Every tag, and what is lost meanwhile. */
  async all(): Promise<void> {
    await this.#repair(this.#deps.tags);
    while (this.needed && !this.#deps.signal.aborted) await this.lost();
  }

  /** What was lost so far. */
  async lost(): Promise<void> {
    const { lanes, log, tags: owned } = this.#deps;
    // Tags are seldom lost alone: the others are asked before they say so themselves.
    await lanes.beat(owned, -1);
    const tags = [...this.#lost];
    this.#lost.clear();
    log.warn(`The view store lost or changed ${tags.length} of ${owned.length} tags: comparing and mending them`);
    for (const tag of tags) await lanes.refence(tag);
    await this.#repair(tags);
  }

  async #repair(tags: readonly number[]): Promise<void> {
    const { fold, writer, lanes, holds, metrics, log, round, signal } = this.#deps;
    // Rounds run meanwhile, over views that are not all compared yet: the position may not tell of them.
    const hold = holds.open();
    const reconcile = new Reconcile(fold, round, signal);
    const differing = await insist('compare views', () => reconcile.run(writer, tags), this.#deps);
    if (differing === null) return;
    await round();
    // A tag lost meanwhile is repaired again before anything is said of it.
    for (const tag of tags) {
      if (!this.#lost.has(tag)) await lanes.add({ key: completeKey(tag), value: Buffer.from('1') });
    }
    await lanes.drain();
    holds.close(hold);
    metrics.reconciled(tags.length, differing);
    log.info(
      `Compared ${tags.length} tags with the facts: ${differing} views were missing or differed, and are written`,
    );
  }
}
