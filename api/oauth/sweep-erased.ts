import type { FastifyBaseLogger } from 'fastify';
import type { RiderDirectory } from '../tokens/rider-directory.ts';
import type { RiderEndings } from './rider-endings.ts';
import type { StateStore } from './state-store.ts';

/**
 * Erases what sign-in holds of riders who are gone. Throws, with nothing done that was not right, where it can't be
 * told who exists: an absence counts only in a store known to be complete. It may be begun again at any time.
 */
export async function sweepErased(
  store: StateStore,
  riders: RiderDirectory,
  endings: RiderEndings,
  logger: FastifyBaseLogger,
): Promise<void> {
  let erased = 0;
  for await (const rider of store.accounts()) {
    if (await riders.exists(rider)) continue;
    await endings.gone(rider);
    erased++;
  }
  if (erased > 0) logger.info({ erased }, 'destroyed grants and sessions of erased riders');
}
