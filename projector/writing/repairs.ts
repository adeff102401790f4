import type { Facts } from '../facts/facts.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { type RetryDeps, retryLogged } from '../retry-logged.ts';
import type { Watching } from '../watching/watching.ts';
import type { Barrier, PositionBarriers } from './position-barriers.ts';
import { Reconcile, type Repair } from './reconcile.ts';
import type { TagLanes } from './tag-lanes.ts';

export interface RepairsDeps extends RetryDeps {
  facts: Facts;
  writer: ViewWriter;
  lanes: TagLanes;
  barriers: PositionBarriers;
  metrics: ProjectorMetrics;
  /** The tags that this projector owns. */
  tags: readonly number[];
  watching?: Pick<Watching, 'repairing'>;
}

/**
 * Compares and repairs tags, and marks them as complete (docs/rules.md#complete): all of them at the start, later those
 * that are lost. Rounds go on meanwhile.
 */
export class Repairs {
  readonly #deps: RepairsDeps;
  /**
   * Lost tags. Each has the barrier that holds the position back since then, because batches of the tag were dropped.
   */
  readonly #lost = new Map<number, Barrier>();

  constructor(deps: RepairsDeps) {
    this.#deps = deps;
  }

  /** The store lost or changed something of this tag. */
  lose(tag: number): void {
    if (!this.#lost.has(tag)) this.#lost.set(tag, this.#deps.barriers.open());
  }

  get needed(): boolean {
    return this.#lost.size > 0;
  }

  /** Repairs every tag, and what is lost meanwhile. */
  async all(): Promise<void> {
    const { tags, barriers, signal } = this.#deps;
    await this.#repair(tags, [barriers.open()]);
    while (this.needed && !signal.aborted) await this.lost();
  }

  /** Repairs what was lost so far. */
  async lost(): Promise<void> {
    const { lanes, log, tags: owned } = this.#deps;
    // Tags are rarely lost alone. The others are checked now, before they are found lost one by one.
    await lanes.beat(owned, -1);
    const lost = [...this.#lost];
    this.#lost.clear();
    const tags = lost.map(([tag]) => tag);
    log.warn(`The view store lost or changed ${tags.length} of ${owned.length} tags: comparing and repairing them`);
    for (const tag of tags) await lanes.refence(tag);
    await this.#repair(
      tags,
      lost.map(([, barrier]) => barrier),
    );
  }

  /** The barriers are lifted once every view is repaired. Until then the position must not pass them. */
  async #repair(tags: readonly number[], barriers: readonly Barrier[]): Promise<void> {
    const { watching } = this.#deps;
    watching?.repairing(tags.length);
    try {
      await this.#compare(tags, barriers);
    } finally {
      watching?.repairing(-tags.length);
    }
  }

  async #compare(tags: readonly number[], barriers: readonly Barrier[]): Promise<void> {
    const { facts, writer, lanes, metrics, log, signal } = this.#deps;
    const mend: Repair = (tag, write) => lanes.add(tag, write);
    const compare = () => new Reconcile(facts, mend, signal, (views) => metrics.compared(views)).run(writer, tags);
    const differing = await retryLogged('compare views', compare, this.#deps);
    if (differing === null) return;
    await lanes.drain();
    // A tag lost meanwhile is repaired again before it is marked as complete.
    for (const tag of tags) {
      if (!this.#lost.has(tag)) await lanes.add(tag, { kind: 'complete', id: '', value: Buffer.from('1') });
    }
    await lanes.drain();
    for (const barrier of barriers) this.#deps.barriers.lift(barrier);
    metrics.reconciled(tags.length, differing);
    log.info(
      `Compared ${tags.length} tags with the facts: ${differing} views were missing or differed, and have been rewritten`,
    );
  }
}
