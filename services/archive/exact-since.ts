import type { SavedState } from '../../infra/archive/saving/growing-archive.ts';
import { UsageError } from '../cli/io.ts';

/** Whether an archive that goes on at `atMs` keeps every record since `exact_since` (docs/rules.md#archive-save). */
export function isExactAt({ exact_since, saved_until }: SavedState, atMs: number, allowedMs: number): boolean {
  if (exact_since === null || saved_until === null) return false;
  // A save that lies ahead was made by another clock: how long the gap is, nobody knows.
  return Math.abs(atMs - Date.parse(saved_until)) <= allowedMs;
}

/** Throws UsageError if a save at `atMs` would move `exact_since` of an archive that has every record of some time. */
export function assertNoGap(state: SavedState, atMs: number, compactionLagMs: number): void {
  const { exact_since, saved_until } = state;
  // After a single save there is no such time, and nothing to lose; a made-up archive was never saved.
  if (
    exact_since === null ||
    saved_until === null ||
    exact_since === saved_until ||
    isExactAt(state, atMs, compactionLagMs)
  )
    return;
  throw new UsageError(
    `Cannot save to the archive: it has every record from ${exact_since} to ${saved_until}, and of the time since some may be gone: Kafka keeps superseded ones for ${compactionLagMs} ms (min.compaction.lag.ms). Save to an empty folder, or go on with --after-gap: exact_since then moves to now`,
  );
}
