import type { Log } from '../../../projector/ports/log.ts';
import type { RedisKeys } from '../redis-keys.ts';

// Logs outlive an erasure, so keys that name riders or developer keys are not logged.
const privateKinds = new Set(['reader', 'rider', 'key']);
// Another program may go on writing keys. At most so many are logged in ten minutes.
const toldMax = 20;
const forgetMs = 600_000;

/** Logs keys of ours that another program wrote with another type, and that are being replaced (docs/rules.md#complete). */
export class OtherTypes {
  readonly #keys: RedisKeys;
  readonly #log: Log;
  readonly #told = new Set<string>();
  #sinceMs = 0;

  constructor(keys: RedisKeys, log: Log) {
    this.#keys = keys;
    this.#log = log;
  }

  found(redisKey: string, nowMs = performance.now()): void {
    if (nowMs - this.#sinceMs > forgetMs) {
      this.#told.clear();
      this.#sinceMs = nowMs;
    }
    if (this.#told.size >= toldMax || this.#told.has(redisKey)) return;
    this.#told.add(redisKey);
    const view = this.#keys.viewOf(redisKey);
    const name = view && privateKinds.has(view.kind) ? `a key of kind ${view.kind} in tag ${view.tag}` : redisKey;
    this.#log.warn(
      `Another program wrote ${name} in Redis, with another type: it is being replaced by what belongs there. Let no other program write under ${this.#keys.prefix}`,
    );
  }
}
