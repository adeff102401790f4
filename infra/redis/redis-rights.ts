import { causeChain } from '../net/cause-chain.ts';

/** The channel of Redis's invalidation messages. */
export const invalidations = '__redis__:invalidate';

/** The commands that the writer's scripts call. */
const writerRights =
  '+get +set +del +hset +hdel +zadd +zrem +zscore +zcard +zrange +zremrangebyscore +zunionstore +time +info';
/** The commands that sign-in's scripts call. */
export const signInRights =
  '+del +hget +hset +hdel +hgetall +hincrby +exists +pexpire +pexpireat +time +zadd +zrange +zremrangebyscore';

/**
 * The right that a Redis user lacks, as an operator would grant it, parsed from Redis's error: `+subscribe`,
 * `&__redis__:invalidate`. Null for any other error. Redis before 7.2 does not name a command within a script, so
 * `scriptRights` is all of them.
 */
export function missingRight(error: unknown, scriptRights = writerRights): string | null {
  for (const { message } of causeChain(error)) {
    const command = /no permissions to run the '([^']+)' command/i.exec(message)?.[1];
    if (command) return `+${command.toLowerCase()}`;
    if (/user executing the script can't run/i.test(message)) return scriptRights;
    if (/^NOPERM.*channel/i.test(message)) return `&${invalidations}`;
    if (/^NOPERM.*key/i.test(message)) return '~<REDIS_KEY_PREFIX>*';
  }
  return null;
}

/** The rights that a Redis user lacks, and the consequences. Shown where operators look, because reads go on. */
export class MissingRights {
  readonly #lacking = new Map<string, string>();

  /** Records the right that made a command fail. Returns whether the error was about a right. */
  noted(error: unknown, consequence: string): boolean {
    const right = missingRight(error);
    if (right !== null) this.#lacking.set(right, consequence);
    return right !== null;
  }

  /** Rights may have been granted: clears all of them, or those with this consequence. */
  forget(consequence?: string): void {
    for (const [right, one] of this.#lacking) {
      if (consequence === undefined || one === consequence) this.#lacking.delete(right);
    }
  }

  /** In words. Null if no right is known to be missing. */
  text(): string | null {
    if (this.#lacking.size === 0) return null;
    const each = [...this.#lacking].map(([right, consequence]) => `lacks ${right} (${consequence})`);
    return `the Redis user of REDIS_URL ${each.join(', ')}: grant it with ACL SETUSER`;
  }
}
