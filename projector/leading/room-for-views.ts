import { viewFormat } from '../../schemas/views/view-keys.ts';
import type { Facts } from '../facts/facts.ts';
import type { ViewWriter } from '../ports/view-writer.ts';
import { type RetryDeps, retryLogged } from '../retry-logged.ts';
import { fillBytes } from '../writing/fill-size.ts';
import type { TakenTags } from './take-all.ts';

/** The store has no room for the views: writing them would fill it, and stop whoever else writes there. */
export class NoRoomError extends Error {
  override name = 'NoRoomError';
  readonly retry = false;
}

/**
 * Throws NoRoomError if the store's memory would not hold the views of tags that no leader has written yet: those of a
 * format that is new beside another one, or of a first start (docs/rules.md#fill).
 */
export async function assertRoom(
  taken: TakenTags,
  facts: Facts,
  { leadership }: Pick<ViewWriter, 'leadership'>,
  deps: RetryDeps,
): Promise<void> {
  const empty = new Set([...taken].flatMap(([tag, { position }]) => (position === null ? [tag] : [])));
  if (!leadership || empty.size === 0) return;
  const room = await retryLogged('ask how much memory the store has', () => leadership.room(), deps);
  if (room === null) return;
  const needed = await fillBytes(facts, empty, deps.clock);
  if (needed <= room) return;
  throw new NoRoomError(
    `Cannot fill format ${viewFormat} of the views: they take about ${megabytes(needed)}, and the view store has room for ${megabytes(room)}. Give it more memory (maxmemory), or remove a format that is no longer used (generations drop)`,
  );
}

const megabytes = (bytes: number): string => `${Math.ceil(Math.max(0, bytes) / 1e6)} MB`;
