import type { FastifyBaseLogger } from 'fastify';
import type { RiderDirectory } from '../../ports/rider-directory.ts';
import type { StateStore } from '../../ports/sign-in-state.ts';

interface ErasureDeps {
  store: Pick<StateStore, 'accounts' | 'ofAccount' | 'remove' | 'tidyAccount'>;
  riders: Pick<RiderDirectory, 'card'>;
  logger: Pick<FastifyBaseLogger, 'info' | 'warn'>;
  sweepDelayMs?: number | undefined;
}

/**
 * Ends what riders who are gone were given (docs/rules.md#ended-tokens): one rider when their tombstone is noticed, and
 * all by a sweep, for those who were erased while no API ran. What fails is repeated by the next sweep.
 */
export function riderErasure({ store, riders, logger, sweepDelayMs = 5_000 }: ErasureDeps) {
  /** Riders whose end is not complete. It is completed even if they come back (docs/rules.md#republished-rider). */
  const open = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let told = false;

  // Grants end first, so that nothing else of the rider's gives a new token meanwhile.
  const end = async (rider: string): Promise<void> => {
    open.add(rider);
    const given = await store.ofAccount(rider);
    for (const { kind, id } of [...given.filter(({ kind }) => kind === 'Grant'), ...given])
      await store.remove(kind, id);
    await store.tidyAccount(rider);
    open.delete(rider);
  };

  const eraseRider = (rider: string): Promise<void> => end(rider).catch(sweepSoon);

  /** Ends all riders who are gone. Throws if it cannot be told who exists: absence counts only in a complete store. */
  const sweep = async (): Promise<void> => {
    for (const rider of open) await end(rider);
    let erased = 0;
    for await (const rider of store.accounts()) {
      if (await riders.card(rider)) continue;
      await end(rider);
      erased++;
    }
    if (erased > 0) logger.info({ erased }, 'destroyed grants and sessions of erased riders');
  };

  /** Sweeps after a moment, again and again until it succeeds. Asked again meanwhile, it does not wait longer. */
  const sweepSoon = (): void => {
    if (closed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      sweep().then(
        () => {
          told = false;
        },
        (cause: Error) => {
          // An outage of an hour would be hundreds of lines.
          if (!told) logger.warn(`Cannot destroy the grants of erased riders, trying again: ${cause.message}`);
          told = true;
          sweepSoon();
        },
      );
    }, sweepDelayMs).unref();
  };

  return {
    /** A rider was found to be gone: ends everything of theirs. Harmless to repeat. Never throws. */
    eraseRider,
    /** Whether a rider is gone. Then everything of theirs ends. Throws if the views are away. */
    async isGone(rider: string): Promise<boolean> {
      const gone = (await riders.card(rider)) === null;
      if (gone) void eraseRider(rider);
      return gone;
    },
    sweep,
    sweepSoon,
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}

export type RiderErasure = ReturnType<typeof riderErasure>;
