import type { Clock } from '../../projector/running/clock.ts';
import type { Timeline } from './timeline.ts';

/** A process that can be frozen, resumed and killed. Whatever comes to it from outside comes through `run`. */
export class SimulatedProcess {
  readonly #timeline: Timeline;
  readonly name: string;
  alive = true;
  frozen = false;
  /** What came while it was frozen: of each channel in order, of several channels in any order. */
  readonly #waiting: { channel: string; happen: () => void }[] = [];
  readonly #sleeps = new Set<() => void>();
  readonly clock: Clock;

  constructor(timeline: Timeline, name: string) {
    this.#timeline = timeline;
    this.name = name;
    this.clock = {
      nowMs: () => timeline.nowMs,
      wallMs: () => timeline.nowMs,
      sleep: (ms, signal) => this.#sleep(ms, signal),
    };
  }

  /** Happens in the process: now, once it is resumed, or never if it is killed. */
  run(channel: string, happen: () => void): void {
    if (!this.alive) return;
    if (this.frozen) this.#waiting.push({ channel, happen });
    else happen();
  }

  freeze(): void {
    this.frozen = true;
  }

  /** Goes on. `pick`: which of so many channels is served next, as nobody knows with sockets and timers. */
  resume(pick: (channels: readonly string[]) => string): void {
    if (!this.frozen || !this.alive) return;
    this.frozen = false;
    const waiting = this.#waiting.splice(0);
    while (waiting.length > 0) {
      const channel = pick([...new Set(waiting.map((each) => each.channel))]);
      const [next] = waiting.splice(
        waiting.findIndex((each) => each.channel === channel),
        1,
      );
      this.#timeline.after(0, () => this.run(channel, next!.happen));
    }
  }

  /** Nothing of it goes on, and nothing that it asked for is heard. */
  kill(): void {
    this.alive = false;
    this.#waiting.length = 0;
    // Node holds a signal that follows others for as long as something listens to it, and this world with it.
    for (const forget of this.#sleeps) forget();
    this.#sleeps.clear();
  }

  #sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const forget = (): void => signal?.removeEventListener('abort', abort);
      const wake = (): void => {
        forget();
        this.#sleeps.delete(forget);
        resolve();
      };
      // As with Node's timers: what else the signal wakes goes on before.
      const abort = (): void => this.#timeline.after(0, () => this.run('timers', wake));
      if (signal) {
        this.#sleeps.add(forget);
        signal.addEventListener('abort', abort);
      }
      this.#timeline.after(ms, () => this.run('timers', wake));
    });
  }
}
