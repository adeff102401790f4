import type { Logger } from 'pino';
import type { StateStore } from '../../../api/ports/sign-in-state.ts';
import { StoreAwayError } from '../../../api/ports/view-reader.ts';
import { causeText } from '../../../infra/net/cause-chain.ts';
import { backgroundClock } from '../../../projector/running/clock.ts';

// A first connection takes a moment, which is not worth logging.
const firstWaitMs = 1_500;
const waitMs = 5_000;

/**
 * Writes an entry every 5 s until the signal aborts, and logs when riders cannot sign in and when they can again.
 * Without it nobody would notice: while sign-in's Redis is away, full or read-only, reads go on and few requests fail.
 * Returns what says why nobody can sign in, or null if riders can. Everybody may read that: it names no address.
 */
export function probeSignIn(
  store: Pick<StateStore, 'put'>,
  log: Pick<Logger, 'info' | 'warn'>,
  signal: AbortSignal,
  sleep = backgroundClock.sleep,
): () => string | null {
  let trouble: string | null = null;
  const probe = (): Promise<Error | null> =>
    store.put('Probe', 'probe', {}, { lifeSeconds: 60 }).then(
      () => null,
      (cause: Error) => cause,
    );
  const run = async (): Promise<void> => {
    for (let ms = firstWaitMs; !signal.aborted; ms = waitMs) {
      await sleep(ms, signal);
      if (signal.aborted) return;
      const seen = await probe();
      if (signal.aborted) return;
      // The text of another fault may name anything, an address for example.
      const found = seen instanceof StoreAwayError ? seen.message : seen && 'the log says why';
      if (seen && found !== trouble) log.warn(`Nobody can sign in or refresh: ${causeText(seen)}`);
      if (seen === null && trouble !== null) log.info("Sign-in's Redis takes writes again: riders can sign in");
      trouble = found;
    }
  };
  void run();
  return () => trouble;
}
