import type { FastifyBaseLogger } from 'fastify';
import type { RecentErasures } from '../tokens/recent-erasures.ts';
import type { RiderDirectory } from '../tokens/rider-directory.ts';
import type { Grants } from './grants.ts';
import type { StateStore } from './state-store.ts';

export function riderErasure(grants: Grants, erasures: RecentErasures, logger: FastifyBaseLogger, retryMs = 5_000) {
  /** When each rider was found to be gone, in milliseconds. Only riders whose end is not complete. */
  const open = new Map<string, number>();

  const destroy = async (rider: string, goneMs: number): Promise<void> => {
    await grants.endRider(rider, goneMs);
    if (open.get(rider) === goneMs) open.delete(rider);
  };
  let [told, closed] = [false, false];
  const goOn = async (): Promise<void> => {
    try {
      for (const [rider, goneMs] of open) await destroy(rider, goneMs);
      told = false;
    } catch (cause) {
      if (!told) logger.warn({ err: cause }, 'Cannot destroy the grants and sessions of erased riders, trying again');
      told = true;
    }
    if (!closed) timer = setTimeout(() => void goOn(), retryMs).unref();
  };
  let timer = setTimeout(() => void goOn(), retryMs).unref();

  return {
    /**
     * A rider was found to be gone: ends everything of theirs. Harmless to repeat. Throws if the store is away; it is
     * then retried, even if the rider is back by then (docs/rules.md#republished-rider).
     */
    async gone(rider: string): Promise<void> {
      const noted = erasures.note(rider);
      const goneMs = erasures.goneMs(rider)!;
      open.set(rider, goneMs);
      // If other processes could not be told, that is retried.
      await noted;
      await destroy(rider, goneMs);
    },
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
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
