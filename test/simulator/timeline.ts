// The event loop comes round once for so many things that happen: that takes as long as one of them.
const burst = 4;

/** Virtual time. What is due happens in order, one thing at a time, each with all that follows from it at once. */
export class Timeline {
  nowMs: number;
  /** The next thing is the last one here. */
  readonly #due: { atMs: number; happen: () => void }[] = [];

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  /** Something that happens later. At the same time, what was asked for first happens first. */
  at(atMs: number, happen: () => void): void {
    const item = { atMs: Math.max(atMs, this.nowMs), happen };
    let i = this.#due.length;
    while (i > 0 && this.#due[i - 1]!.atMs <= item.atMs) i -= 1;
    this.#due.splice(i, 0, item);
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
        over ||= isOver() || (this.#due.at(-1)?.atMs ?? Number.POSITIVE_INFINITY) > untilMs;
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

  #happen(): void {
    const next = this.#due.pop()!;
    this.nowMs = Math.max(this.nowMs, next.atMs);
    next.happen();
  }
}
