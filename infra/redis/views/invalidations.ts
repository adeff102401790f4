import type { ChangeListener } from '../../../api/ports/view-reader.ts';
import { unheardMsMax } from '../../../projector/ports/leading.ts';
import type { Clock } from '../../../projector/running/clock.ts';
import type { RedisKeys } from '../redis-keys.ts';

/**
 * Passes Redis's invalidation messages to a listener, and says whether they are reliably heard. They are once the fences that
 * a beat moves have all been heard to move, until one falls silent or a connection changes. No I/O.
 */
export class Invalidations {
  readonly #keys: RedisKeys;
  readonly #listener: ChangeListener;
  readonly #clock: Clock;
  readonly #heardMs: Float64Array;
  #state: 'deaf' | 'hearing' = 'deaf';
  #checkedMs: number;

  /** `beating`: of how many tags a beat moves the fence, from 0 on: on one Redis the first one's, which says that its connection is heard. */
  constructor(keys: RedisKeys, listener: ChangeListener, clock: Clock, beating: number) {
    this.#keys = keys;
    this.#listener = listener;
    this.#clock = clock;
    this.#checkedMs = clock.nowMs();
    this.#heardMs = new Float64Array(beating).fill(Number.NEGATIVE_INFINITY);
  }

  /** The keys of one message. Null: all keys, as after FLUSHALL. */
  message(names: readonly Buffer[] | null): void {
    this.noticePause();
    if (names === null) {
      this.#listener.allChanged();
      return;
    }
    for (const name of names) {
      const text = name.toString();
      const tag = this.#keys.fenceTag(text);
      if (tag >= 0) this.#heardMs[tag] = this.#clock.nowMs();
      else {
        const key = this.#keys.fromRedis(text);
        if (key) this.#listener.changed(key);
      }
    }
  }

  /**
   * Notices by an overdue check that the process was paused: messages of that time are not read yet, or their connection
   * is gone. Call it before each answer from a cache, because a process that wakes up may run any of its work first.
   */
  noticePause(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#checkedMs <= unheardMsMax) return;
    this.#checkedMs = nowMs;
    this.connectionChanged();
  }

  /** A connection was lost or made: messages may have been missed. */
  connectionChanged(): void {
    this.#heardMs.fill(Number.NEGATIVE_INFINITY);
    this.#become('deaf');
    this.#listener.allChanged();
  }

  /** Call regularly. Notices silence and its end. */
  check(): void {
    this.#checkedMs = this.#clock.nowMs();
    const since = this.#clock.nowMs() - unheardMsMax;
    const silent = this.#heardMs.some((ms) => ms < since);
    if (!silent) this.#become('hearing');
    else if (this.#become('deaf')) this.#listener.allChanged();
  }

  #become(state: 'deaf' | 'hearing'): boolean {
    if (state === this.#state) return false;
    this.#state = state;
    this.#listener.hearing(state === 'hearing');
    return true;
  }
}
