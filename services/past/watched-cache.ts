import { type Entry, ViewCache } from '../../api/calendar/view-cache.ts';

/** A cache that tells which views are used, those that are not there too. */
export class WatchedCache extends ViewCache {
  onUsed: ((key: string) => void) | null = null;

  override peek(key: string): Entry | undefined {
    this.onUsed?.(key);
    return super.peek(key);
  }

  override load(keys: readonly string[]): Entry[] | Promise<Entry[]> {
    for (const key of keys) this.onUsed?.(key);
    return super.load(keys);
  }
}
