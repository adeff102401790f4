// Rendering and comparing are synchronous: after so long the event loop gets its turn.
const turnMs = 10;

/** Gives the event loop its turn now and then, in work that would hold it for long. */
export class Turns {
  #sinceMs = performance.now();

  /** Whether it has held the event loop long enough. */
  due(): boolean {
    return performance.now() - this.#sinceMs > turnMs;
  }

  async take(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#sinceMs = performance.now();
  }
}
