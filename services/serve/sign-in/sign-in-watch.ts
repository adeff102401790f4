import type { Logger } from 'pino';
import { type StateStore, StateStoreAwayError } from '../../../api/ports/sign-in-state.ts';
import { causeText } from '../../../infra/net/cause-chain.ts';
import { backgroundClock } from '../../../projector/ports/clock.ts';

// A first connection takes a moment, which is not worth logging.
const firstLookMs = 1_500;
const lookMs = 5_000;

interface SignInWatch {
  /** Why nobody can sign in, or null if riders can. Everybody may read it: it names no address. */
  trouble(): string | null;
}

/**
 * Writes an entry every few seconds, until the signal aborts: reads go on while sign-in's Redis is away, full or
 * read-only, and few requests fail, so that nobody would notice. Logs when riders cannot sign in, and when they can again.
 */
export function watchSignIn(
  store: Pick<StateStore, 'put'>,
  log: Pick<Logger, 'info' | 'warn'>,
  signal: AbortSignal,
  sleep = backgroundClock.sleep,
): SignInWatch {
  let trouble: string | null = null;
  const look = async (): Promise<Error | null> =>
    await store.put('Probe', 'probe', {}, { lifeSeconds: 60 }).then(() => null, asError);
  const run = async (): Promise<void> => {
    for (let waitMs = firstLookMs; !signal.aborted; waitMs = lookMs) {
      await sleep(waitMs, signal);
      if (signal.aborted) return;
      const seen = await look();
      if (signal.aborted) return;
      const found = seen && publicText(seen);
      if (seen && found !== trouble) log.warn(`Nobody can sign in or refresh: ${causeText(seen)}`);
      if (seen === null && trouble !== null) log.info("Sign-in's Redis takes writes again: riders can sign in");
      trouble = found;
    }
  };
  void run();
  return { trouble: () => trouble };
}

const asError = (cause: unknown): Error => cause as Error;

/** What is no fault of the store may name anything. */
const publicText = (error: Error): string =>
  error instanceof StateStoreAwayError ? error.message : 'the log says why';
