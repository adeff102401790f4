import type { FastifyBaseLogger } from 'fastify';
import type { RiderDirectory } from '../tokens/rider-directory.ts';
import type { Grants } from './grants.ts';
import type { StateStore } from './state-store.ts';

export function riderErasure(grants: Grants, logger: FastifyBaseLogger, retryMs = 5_000) {
  /** Riders whose end is not complete. */
  const open = new Set<string>();
  const end = async (rider: string): Promise<void> => {
    open.add(rider);
    await grants.endRider(rider);
    open.delete(rider);
  };
  const timer = setInterval(() => {
    for (const rider of open)
      end(rider).catch((error: unknown) => logger.debug({ err: error }, 'cannot end what an erased rider has'));
  }, retryMs).unref();
  return {
    /**
     * A rider was found to be gone: ends everything of theirs. Harmless to repeat. Throws if the store is away; it is
     * then retried, even if the rider is back by then (docs/rules.md#republished-rider).
     */
    gone: end,
    close: (): void => clearInterval(timer),
  };
}

/**
 * Erases what sign-in holds of riders who are gone. Throws if it cannot be told who exists, because absence counts only
 * in a complete store; nothing wrong has been erased then. May be started again at any time.
 */
export async function sweepErased(
  store: StateStore,
  riders: RiderDirectory,
  erasure: ReturnType<typeof riderErasure>,
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
