import type { FastifyBaseLogger } from 'fastify';
import type { Grants } from './grants.ts';
import type { RiderDirectory } from './rider-directory.ts';
import type { StateStore } from './state-store.ts';

/**
 * Erases what sign-in holds of riders who are gone. Stops without harm where it can't be told who exists: an absence
 * counts only in a store known to be complete.
 */
export async function sweepErased(
  store: StateStore,
  riders: RiderDirectory,
  grants: Grants,
  logger: FastifyBaseLogger,
): Promise<void> {
  let erased = 0;
  for await (const rider of store.accounts()) {
    let exists: boolean;
    try {
      exists = await riders.exists(rider);
    } catch (error) {
      logger.warn({ err: error }, 'cannot sweep sign-ins of erased riders: it is not known which riders exist');
      return;
    }
    if (exists) continue;
    await grants.eraseRider(rider);
    erased++;
  }
  if (erased > 0) logger.info({ erased }, 'destroyed grants and sessions of erased riders');
}
