import { type FSWatcher, watch } from 'node:fs';
import { type Clock, realClock } from '../../projector/ports/clock.ts';
import { WakeUp } from '../../projector/ports/waiting.ts';

/**
 * Waits for changes in folders. The system's notifications are quick but not reliable (network file systems send none,
 * folders come and go), so a wait ends after `pollMs` at the latest.
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

  /** Watches these folders as well, if they exist. */
  add(folders: readonly string[]): void {
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#notify());
        watcher.on('error', () => this.#drop(folder));
        this.#watchers.set(folder, watcher);
      } catch {
        // The folder does not exist, or there are no more watches. The poll finds changes.
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
