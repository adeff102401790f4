import type { StateStore } from '../oauth/state-store.ts';
import { accessTokenSeconds } from './access-token.ts';

export interface RecentErasuresOptions {
  store: StateStore;
  /** Lifetime of an access token, in seconds. */
  tokenSeconds?: number;
  /** How often the store is read for erasures that other processes saw, and failed writes are retried. */
  learnEveryMs?: number;
  /** At most this many are kept in memory. The oldest are dropped first. */
  sizeMax?: number;
  /** The real clock, in milliseconds. */
  nowMs?: () => number;
}

// The clocks of processes differ a little.
const clockMarginSeconds = 60;

/**
 * Riders found to be gone within the life of an access token (docs/rules.md#ended-tokens, #republished-rider). Access
 * tokens cannot be revoked, and once an id is published again the views do not show that it was erased. So this refuses
 * what was issued before the erasure, until it has expired. Erasures are kept in sign-in's store for other processes
 * and for restarts, and in memory, so that a request needs no round trip.
 */
export class RecentErasures {
  readonly #store: StateStore;
  readonly #keptSeconds: number;
  readonly #sizeMax: number;
  readonly #nowMs: () => number;
  /** When each rider was last found to be gone, in milliseconds; roughly oldest first. */
  readonly #gone = new Map<string, number>();
  readonly #untold = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #recheck: Promise<void> | null = null;

  constructor(options: RecentErasuresOptions) {
    const { store, tokenSeconds = accessTokenSeconds, learnEveryMs = 5_000, sizeMax = 100_000 } = options;
    this.#store = store;
    this.#keptSeconds = tokenSeconds + clockMarginSeconds;
    this.#sizeMax = sizeMax;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#timer = setInterval(() => void this.#learn(), learnEveryMs).unref();
    this.recheck();
  }

  /**
   * A rider was found to be gone just now. Takes effect in this process at once. Throws if the store could not be
   * written, which is retried.
   */
  async note(rider: string): Promise<void> {
    this.#remember(rider, this.#nowMs());
    this.#untold.set(rider, this.#gone.get(rider)!);
    await this.#tell();
  }

  /** Erasures may have been missed: `settled` is a promise until the store has been read. */
  recheck(): void {
    const asked = this.#learn().then(() => {
      if (this.#recheck === asked) this.#recheck = null;
    });
    this.#recheck = asked;
  }

  /**
   * Null, or a promise to await before `ended` can be relied on. It resolves when the store has answered or was given
   * up.
   */
  get settled(): Promise<void> | null {
    return this.#recheck;
  }

  /**
   * Whether a rider's token issued at this time (`iat`, seconds) ended with an erasure. A token of the erasure's own
   * second did, because `iat` is no finer. A rider who signed in anew within that second refreshes.
   */
  ended(rider: string, issuedSeconds: number): boolean {
    if (this.#gone.size === 0) return false;
    const goneMs = this.#gone.get(rider);
    return goneMs !== undefined && issuedSeconds <= Math.floor(goneMs / 1000);
  }

  /** When a rider was last found to be gone, as far as that is known. */
  goneMs(rider: string): number | undefined {
    return this.#gone.get(rider);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #remember(rider: string, goneMs: number): void {
    if ((this.#gone.get(rider) ?? 0) >= goneMs) return;
    this.#gone.delete(rider);
    this.#gone.set(rider, goneMs);
    const forgotten = this.#nowMs() - this.#keptSeconds * 1000;
    for (const [oldest, oldestMs] of this.#gone) {
      if (this.#gone.size <= this.#sizeMax && oldestMs > forgotten) break;
      this.#gone.delete(oldest);
    }
  }

  async #tell(): Promise<void> {
    const told = new Map(this.#untold);
    if (told.size === 0) return;
    await this.#store.noteErasures(told, this.#keptSeconds);
    for (const [rider, goneMs] of told) if (this.#untold.get(rider) === goneMs) this.#untold.delete(rider);
  }

  async #learn(): Promise<void> {
    try {
      await this.#tell();
      for (const [rider, goneMs] of await this.#store.erasures()) this.#remember(rider, goneMs);
    } catch {
      // The store is away, and reports that itself. Live tokens keep working, and the erasures known here still count.
    }
  }
}
