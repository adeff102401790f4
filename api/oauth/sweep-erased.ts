import type { FastifyBaseLogger } from 'fastify';
import type { RiderDirectory } from '../tokens/rider-directory.ts';
import type { RiderErasure } from './rider-erasure.ts';
import type { StateStore } from './state-store.ts';

/**
 * Erases what sign-in holds of riders who are gone. Throws if it cannot be told who exists, because absence counts only
 * in a complete store; nothing wrong has been erased then. May be started again at any time.
 */
export async function sweepErased(
  store: StateStore,
  riders: RiderDirectory,
  erasure: RiderErasure,
  logger: FastifyBaseLogger,
): Promise<void> {
  let erased = 0;
  for await (const rider of store.accounts()) {
    if (await riders.exists(rider)) continue;
    await erasure.gone(rider);
    erased++;
  }
  if (erased > 0) logger.info({ erased }, 'destroyed grants and sessions of erased riders');
}
