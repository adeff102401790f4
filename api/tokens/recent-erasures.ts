import type { StateStore } from '../oauth/state-store.ts';
import { accessTokenSeconds } from './access-token-terms.ts';

export interface RecentErasuresOptions {
  store: StateStore;
  /** How long an access token lives, in seconds. */
  tokenSeconds?: number;
  /** How often what other processes saw is learnt, and what could not be told them is told again. */
  learnEveryMs?: number;
  /** At most this many are remembered here: the oldest make room. */
  sizeMax?: number;
  /** Real clock, milliseconds. */
  nowMs?: () => number;
}

// Processes' clocks differ a little.
const clockMarginSeconds = 60;

/**
 * Riders seen to be gone within the life of an access token (docs/rules.md#ended-tokens, #republished-rider). Their
 * tokens can't be revoked, and the views know nothing of an erasure once the id is published again: so what was issued
 * up to the erasure is refused by this, until it has expired. Kept in sign-in's store for other processes and after a
 * restart, and here, so that a request asks nobody.
 */
export class RecentErasures {
  readonly #store: StateStore;
  readonly #keptSeconds: number;
  readonly #sizeMax: number;
  readonly #nowMs: () => number;
  /** When each was last seen to be gone, in milliseconds; the oldest first, nearly. */
  readonly #gone = new Map<string, number>();
  readonly #untold = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  #doubt: Promise<void> | null = null;

  constructor(options: RecentErasuresOptions) {
    const { store, tokenSeconds = accessTokenSeconds, learnEveryMs = 5_000, sizeMax = 100_000 } = options;
    this.#store = store;
    this.#keptSeconds = tokenSeconds + clockMarginSeconds;
    this.#sizeMax = sizeMax;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#timer = setInterval(() => void this.#learn(), learnEveryMs).unref();
    this.doubt();
  }

  /** A rider was seen to be gone just now. Holds here at once; throws where the store could not be told, which is tried again. */
  async note(rider: string): Promise<void> {
    this.#remember(rider, this.#nowMs());
    this.#untold.set(rider, this.#gone.get(rider)!);
    await this.#tell();
  }

  /** Something may have happened unheard: until the store has been asked, `settled` is not null. */
  doubt(): void {
    const asked = this.#learn().then(() => {
      if (this.#doubt === asked) this.#doubt = null;
    });
    this.#doubt = asked;
  }

  /** Null, or a promise to await before `ended` is to be believed: as long as the store takes to answer, or to be given up. */
  get settled(): Promise<void> | null {
    return this.#doubt;
  }

  /**
   * Whether a rider's token issued then (`iat`, seconds) ended with an erasure. Those of the erasure's own second did:
   * `iat` is no finer, and whoever signed in anew within it refreshes.
   */
  ended(rider: string, issuedSeconds: number): boolean {
    if (this.#gone.size === 0) return false;
    const goneMs = this.#gone.get(rider);
    return goneMs !== undefined && issuedSeconds <= Math.floor(goneMs / 1000);
  }

  /** When a rider was last seen to be gone, as far as that is remembered. */
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
      // The store is away, and says so itself. Live tokens go on meanwhile, and what is known here is known.
    }
  }
}
