import type { Facts } from '../facts/facts.ts';
import { type Clock, realClock } from '../ports/clock.ts';
import type { ViewWrite, ViewWriter } from '../ports/view-writer.ts';
import { Comparison } from './comparison.ts';
import { Turns } from './turns.ts';

/** Receives a view that differs: the right value, just rendered. */
export type Repair = (tag: number, write: ViewWrite) => Promise<void>;

/**
 * One routine for every repair. It lists what a store has under some tags, compares that with what the facts render,
 * and rewrites what differs, is missing or is extra. Each view is rendered, compared and handed over in one turn of the
 * event loop, so it stays in order with changes that are folded and written meanwhile. Throws the signal's reason soon
 * after it aborts.
 */
export class Reconcile {
  readonly #comparison: Comparison;
  readonly #mend: Repair;
  readonly #signal: AbortSignal | null;
  readonly #whole: boolean;
  readonly #turns: Turns;
  #differing = 0;
  #compared = 0;
  #found = 0;
  #stopped = false;
  readonly #onCompared: (views: number) => void;

  /** `onCompared`: hears now and then how many views more were compared. `whole`: all bytes, not only their digests. */
  constructor(
    facts: Facts,
    mend: Repair,
    signal: AbortSignal | null = null,
    onCompared: (views: number) => void = () => {},
    whole = false,
    clock: Clock = realClock,
  ) {
    this.#whole = whole;
    this.#comparison = new Comparison(facts);
    this.#mend = mend;
    this.#signal = signal;
    this.#onCompared = onCompared;
    this.#turns = new Turns(clock);
  }

  /** How many keys the store had. */
  get found(): number {
    return this.#found;
  }

  /** Returns how many views differed. */
  async run(writer: Pick<ViewWriter, 'list'>, tags: readonly number[]): Promise<number> {
    // Asked for each view: the signal itself would look at all that it is composed of.
    const stop = () => {
      this.#stopped = true;
    };
    this.#signal?.throwIfAborted();
    this.#signal?.addEventListener('abort', stop, { once: true });
    try {
      await this.#run(writer, tags);
    } finally {
      this.#signal?.removeEventListener('abort', stop);
    }
    return this.#differing;
  }

  async #run(writer: Pick<ViewWriter, 'list'>, tags: readonly number[]): Promise<void> {
    for await (const stored of writer.list(tags, this.#whole)) {
      this.#found += 1;
      const write = this.#comparison.compare(stored);
      if (write) await this.#differs(stored.tag, write);
      await this.#turn();
    }
    for (const missing of this.#comparison.missing(new Set(tags))) {
      if (missing) await this.#differs(...missing);
      await this.#turn();
    }
    this.#onCompared(this.#compared);
  }

  async #differs(tag: number, write: ViewWrite): Promise<void> {
    this.#differing += write.kind === 'reader' ? Math.max(1, write.fields.length) : 1;
    await this.#mend(tag, write);
  }

  async #turn(): Promise<void> {
    // On an empty store this takes minutes. Stopping the projector must not wait for it.
    if (this.#stopped) this.#signal!.throwIfAborted();
    this.#compared += 1;
    if (!this.#turns.due()) return;
    this.#onCompared(this.#compared);
    this.#compared = 0;
    await this.#turns.take();
  }
}
