import { type FSWatcher, watch } from 'node:fs';
import { type Clock, realClock } from '../../projector/ports/clock.ts';
import { WakeUp } from '../../projector/ports/waiting.ts';

/**
 * Waits for changes in folders. The system's word is quick but not sure (network file systems give none, folders come
 * and go), so that a wait ends after `pollMs` at the latest.
 */
export class ArchiveWatch {
  readonly #pollMs: number;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #wakeUp = new WakeUp();
  readonly #clock: Clock;
  #changed = false;

  constructor(pollMs: number, clock: Clock = realClock) {
    this.#pollMs = pollMs;
    this.#clock = clock;
  }

  /** Listens to these folders as well, where they are there. */
  add(folders: readonly string[]): void {
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#notify());
        watcher.on('error', () => this.#drop(folder));
        this.#watchers.set(folder, watcher);
      } catch {
        // Not there, or no more watches to be had: the poll finds out.
      }
    }
  }

  /** Resolves after a change since the last wait, after `pollMs`, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#changed) await this.#wakeUp.waitAtMost(this.#pollMs, this.#clock, signal);
    this.#changed = false;
  }

  close(): void {
    for (const folder of [...this.#watchers.keys()]) this.#drop(folder);
  }

  #notify(): void {
    this.#changed = true;
    this.#wakeUp.notify();
  }

  #drop(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }
}
