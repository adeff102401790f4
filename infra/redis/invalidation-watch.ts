import type { ChangeListener } from '../../api/ports/view-reader.ts';
import type { Clock } from '../../projector/ports/clock.ts';
import { tagCount } from '../../schemas/views/view-keys.ts';
import type { RedisKeys } from './redis-keys.ts';

// The projector moves every tag's fence each second. If a tag is silent for longer, a connection may be half open.
const silenceMaxMs = 2_000;

/**
 * Passes invalidation messages to a listener, and says whether they are reliably heard. Does no I/O. Messages are
 * reliably heard once the heartbeat of every tag (a message about its fence) has come, until a tag falls silent or a
 * connection changes.
 */
export class InvalidationWatch {
  readonly #keys: RedisKeys;
  readonly #listener: ChangeListener;
  readonly #clock: Clock;
  readonly #heardMs = new Float64Array(tagCount).fill(Number.NEGATIVE_INFINITY);
  #state: 'deaf' | 'hearing' = 'deaf';

  constructor(keys: RedisKeys, listener: ChangeListener, clock: Clock) {
    this.#keys = keys;
    this.#listener = listener;
    this.#clock = clock;
  }

  /** The keys of one message. Null: all keys, as after FLUSHALL. */
  message(names: readonly Buffer[] | null): void {
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

  /** A connection was lost or made: messages may have been missed. */
  connectionChanged(): void {
    this.#heardMs.fill(Number.NEGATIVE_INFINITY);
    this.#become('deaf');
    this.#listener.allChanged();
  }

  /** Call regularly. Notices silence and its end. */
  check(): void {
    const since = this.#clock.nowMs() - silenceMaxMs;
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
