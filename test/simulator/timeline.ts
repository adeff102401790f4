// The event loop comes round once for so many things that happen: that takes as long as one of them.
const burst = 4;

/** Virtual time. What is due happens in order, one thing at a time, each with all that follows from it at once. */
export class Timeline {
  nowMs: number;
  #order = 0;
  readonly #heap: { atMs: number; order: number; happen: () => void }[] = [];

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Something that happens later. At the same time, what was asked for first happens first. */
  at(atMs: number, happen: () => void): void {
    const item = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, happen };
    const heap = this.#heap;
    let i = heap.length;
    heap.push(item);
    for (; i > 0; ) {
      const parent = (i - 1) >> 1;
      if (!before(item, heap[parent]!)) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = item;
  }

  after(ms: number, happen: () => void): void {
    this.at(this.nowMs + ms, happen);
  }

  /** The next thing happens. */
  async step(): Promise<void> {
    this.#happen();
    // All promises that this settles have run before the event loop comes round.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** All happens that is due by then, unless that is the end of it before. */
  async goOn(untilMs: number, isOver: () => boolean): Promise<void> {
    for (let over = false; !over; ) {
      const happen = (): void => {
        over ||= isOver() || !(this.#heap.length > 0 && this.#heap[0]!.atMs <= untilMs);
        if (!over) this.#happen();
      };
      for (let i = 1; i < burst; i++) setImmediate(happen);
      // All promises that one settles have run before the next one.
      await new Promise<void>((resolve) =>
        setImmediate(() => {
          happen();
          resolve();
        }),
      );
    }
    if (!isOver()) this.nowMs = Math.max(this.nowMs, untilMs);
  }

  /** Everything stands still for so long. */
  skip(ms: number): void {
    this.nowMs += ms;
  }

  /** The next thing happens, if it is due by then; else it is then. */
  async stepUntil(ms: number): Promise<void> {
    if (this.#heap.length > 0 && this.#heap[0]!.atMs <= ms) await this.step();
    else this.nowMs = Math.max(this.nowMs, ms);
  }

  #happen(): void {
    const next = this.#take();
    this.nowMs = Math.max(this.nowMs, next.atMs);
    next.happen();
  }

  #take() {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
      if (!before(heap[child]!, last)) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

const before = (a: { atMs: number; order: number }, b: { atMs: number; order: number }): boolean =>
  a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
