import type { Facts } from '../facts/facts.ts';
import type { ProjectorMetrics } from '../ports/metrics.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { countText } from '../running/log.ts';
import { type RetryDeps, retryLogged, WakeUp } from '../running/waiting.ts';
import type { Status } from '../status/status.ts';
import type { TagLanes } from '../writing/tag-lanes.ts';
import { compareStored, type OnDifference } from './comparison.ts';

interface RepairsDeps extends RetryDeps {
  facts: Facts;
  writer: ViewWriter;
  lanes: TagLanes;
  metrics: ProjectorMetrics;
  status: Pick<Status, 'repairing'>;
}

/**
 * Compares tags in doubt with the facts and mends them, so that they are complete again (docs/rules.md#complete). Rounds go
 * on meanwhile.
 */
export class Repairs {
  readonly #deps: RepairsDeps;
  readonly #wanted = new Set<number>();
  /** Those of them whose bytes are all compared, not only the digests. */
  readonly #whole = new Set<number>();
  readonly #changed = new WakeUp();
  /** Why views may be gone, in words. Null: no reason is known. */
  cause: string | null = null;

  constructor(deps: RepairsDeps) {
    this.#deps = deps;
  }

  /**
   * Puts a tag in doubt. `asked`: its open list asks for it. Then all bytes are compared: a digest may be right before
   * bytes that are wrong.
   */
  compare(tag: number, asked: boolean): void {
    if (asked) this.#whole.add(tag);
    if (!this.#wanted.has(tag)) this.#deps.status.repairing(1);
    this.#wanted.add(tag);
    this.#deps.lanes.lane(tag).beginCompare(asked);
    this.#changed.notify();
  }

  /** Tags in doubt. */
  get wanted(): ReadonlySet<number> {
    return this.#wanted;
  }

  /** Resolves once no tag is left to be compared. */
  async done(): Promise<void> {
    while (this.#wanted.size > 0) await this.#changed.wait();
  }

  /** Repairs until told to stop. */
  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      // All at once: each pass lists all keys of the store.
      const tags = [...this.#wanted];
      if (tags.length > 0) await this.#repair(tags, stop);
      else await this.#changed.wait(stop);
    }
  }

  async #repair(tags: readonly number[], stop: AbortSignal): Promise<void> {
    const { lanes, metrics, log } = this.#deps;
    const before = await lanes.processesSeen(tags);
    const compared = await this.#compare(tags, stop);
    // Else views may have been read from a store that was restored to an older state, and is gone again.
    if (compared === null || (await lanes.processesSeen(tags)) !== before) return;
    const { differing, isEmpty } = compared;
    for (const tag of tags) {
      this.#wanted.delete(tag);
      this.#whole.delete(tag);
      this.#deps.status.repairing(-1);
      lanes.lane(tag).endCompare();
    }
    lanes.beat();
    this.#changed.notify();
    metrics.reconciled(differing);
    const views = `${differing.toLocaleString('en')} view${differing === 1 ? '' : 's'}`;
    const what = isEmpty
      ? `Wrote ${views} into an empty store`
      : `Compared ${countText(tags.length, 'part')} of the store with the log: ${views} missing or different, and rewritten`;
    const words = `${what}; ${countText(this.#wanted.size, 'part')} left`;
    if (this.cause && differing > 0) log.warn(`${words}. The cause: ${this.cause}`);
    else log.info(words);
  }

  async #compare(tags: readonly number[], stop: AbortSignal) {
    const { facts, writer, lanes, metrics, clock } = this.#deps;
    const mend: OnDifference = (tag, write) => lanes.add(tag, write, { patience: true });
    const whole = tags.some((tag) => this.#whole.has(tag));
    const options = { signal: stop, clock, onCompared: (views: number) => metrics.compared(views) };
    let isEmpty = true;
    async function* counted() {
      for await (const one of writer.list(tags, whole)) {
        isEmpty = false;
        yield one;
      }
    }
    const compare = async () => {
      isEmpty = true;
      const differing = await compareStored(facts, counted(), tags, mend, options);
      return { differing, isEmpty };
    };
    return retryLogged('compare views', compare, { ...this.#deps, signal: stop });
  }
}
