/** One sleeper, and whoever wakes it. A call while nobody sleeps is not kept. */
export class Alarm {
  #ring: () => void = () => {};

  wake(): void {
    this.#ring();
  }

  /** Resolves when woken, and after `ms` at the latest. */
  async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#ring = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#ring = () => {};
  }
}
