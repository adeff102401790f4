import type { Logger } from 'pino';
import type { ViewCache } from '../../../api/calendar/view-cache.ts';
import type { SignIn } from '../../../api/sign-in/register-sign-in.ts';
import { completeKeyOf, parseKey } from '../../../schemas/views/view-keys.ts';

/**
 * Destroys the grants and sessions of riders when their erasure shows in the views. When an erasure may have been missed,
 * all riders are swept `sweepDelayMs` later.
 */
export function eraseGoneRiders(
  cache: Pick<ViewCache, 'load' | 'onChange'>,
  signIn: Pick<SignIn, 'eraseRider' | 'sweep'>,
  log: Pick<Logger, 'warn'>,
  sweepDelayMs = 5_000,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let told = false;
  const sweep = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      signIn.sweep().then(
        () => {
          told = false;
        },
        (cause: Error) => {
          // An outage of an hour would be hundreds of lines.
          if (!told) log.warn(`Cannot look for the grants of erased riders, trying again: ${cause.message}`);
          told = true;
          sweep();
        },
      );
    }, sweepDelayMs);
    timer.unref();
  };
  const eraseIfGone = async (key: string, rider: string): Promise<void> => {
    const [card, complete] = await cache.load([key, completeKeyOf(key)]);
    if (!card!.isThere && complete!.isThere) await signIn.eraseRider(rider);
  };
  cache.onChange({
    changed(key) {
      const { kind, id } = parseKey(key);
      // The sweep repeats what fails here.
      if (kind === 'rider') eraseIfGone(key, id).catch(sweep);
    },
    allChanged: sweep,
  });
  sweep();
  return () => clearTimeout(timer);
}
