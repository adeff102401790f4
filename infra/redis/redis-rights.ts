import { causeChain } from '../net/cause-chain.ts';

/** The channel of Redis's messages on what has changed. */
export const invalidations = '__redis__:invalidate';

/** What the scripts of the writer call. */
const scriptRights = '+get +set +del +hset +hdel';

/**
 * The right that a Redis user lacks, as an operator would grant it, from what Redis replied: `+subscribe`,
 * `&__redis__:invalidate`. null: the reply is about something else.
 */
export function missingRight(error: unknown): string | null {
  for (const { message } of causeChain(error)) {
    const command = /no permissions to run the '([^']+)' command/i.exec(message)?.[1];
    if (command) return `+${command.toLowerCase()}`;
    // Of a command within a script, which Redis before 7.2 does not name.
    if (/user executing the script can't run/i.test(message)) return scriptRights;
    if (/^NOPERM.*channel/i.test(message)) return `&${invalidations}`;
    if (/^NOPERM.*key/i.test(message)) return '~<REDIS_KEY_PREFIX>*';
  }
  return null;
}

/** What a Redis user may not do, and what comes of it: said where operators look, since reads go on all the same. */
export class MissingRights {
  readonly #lacking = new Map<string, string>();

  /** Notes the right whose lack made a command fail. Returns whether it was that. */
  noted(error: unknown, consequence: string): boolean {
    const right = missingRight(error);
    if (right !== null) this.#lacking.set(right, consequence);
    return right !== null;
  }

  /** Rights come back: all is asked anew, or that whose lack had this consequence. */
  forget(consequence?: string): void {
    for (const [right, one] of this.#lacking) {
      if (consequence === undefined || one === consequence) this.#lacking.delete(right);
    }
  }

  /** In words; null where nothing is known to be missing. */
  text(): string | null {
    if (this.#lacking.size === 0) return null;
    const each = [...this.#lacking].map(([right, consequence]) => `lacks ${right} (${consequence})`);
    return `the Redis user of REDIS_URL ${each.join(', ')}: grant it with ACL SETUSER`;
  }
}
