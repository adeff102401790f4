// Rendering and comparing are synchronous. After this long the event loop gets a turn.
const turnMs = 10;

/** Yields to the event loop now and then, in work that would block it for long. */
export class Turns {
  #sinceMs = performance.now();

  /** Whether the event loop has been blocked long enough. */
  due(): boolean {
    return performance.now() - this.#sinceMs > turnMs;
  }

  async take(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#sinceMs = performance.now();
  }
}
