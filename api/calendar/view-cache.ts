import { isCompleteKey } from '../../schemas/views/view-keys.ts';
import type { ChangeListener, ViewReader } from '../ports/view-reader.ts';

/** A view as it was read, and what callers made of it. */
export class Entry {
  readonly value: Buffer | null;
  #made: unknown;

  constructor(value: Buffer | null) {
    this.value = value;
  }

  /** What `make` makes of the value. It is made once, while the entry is cached. */
  as<T>(make: (value: Buffer) => T): T {
    this.#made ??= make(this.value!);
    return this.#made as T;
  }
}

/** A read under way. Its value may be cached only if this is still in the map when the value comes. */
class Placeholder {}

/** Approximate bytes of an entry beyond its value. */
const entryBytes = 400;

/**
 * A cache of public views in this process. The store's invalidation messages remove changed keys. A read right after a
 * commit can miss it, for as long as the invalidation message is in flight.
 *
 * Absence is never cached: made-up keys would push out keys in use. That a tag is complete is never cached either: if
 * the store were emptied, it would make a missing view count as gone.
 */
export class ViewCache {
  readonly #reader: ViewReader;
  readonly #bytesMax: number;
  readonly #entries = new Map<string, Entry | Placeholder>();
  #bytes = 0;
  #hearing = false;
  #hits = 0;
  #misses = 0;
  #also: Pick<ChangeListener, 'changed' | 'allChanged'> | null = null;

  constructor(reader: ViewReader, bytesMax = 256 * 1024 * 1024) {
    this.#reader = reader;
    this.#bytesMax = bytesMax;
    reader.watch({
      changed: (key) => {
        this.#forget(key);
        this.#also?.changed(key);
      },
      allChanged: () => {
        this.#forgetAll();
        this.#also?.allChanged();
      },
      hearing: (hears) => {
        this.#hearing = hears;
        if (!hears) this.#forgetAll();
      },
    });
  }

  /** Approximate bytes in the cache. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many views were looked up and found here; `misses`: and not found. */
  get hits(): number {
    return this.#hits;
  }

  get misses(): number {
    return this.#misses;
  }

  /** Counts views that `peek` found and that were answered from. */
  answered(views: number): void {
    this.#hits += views;
  }

  /** Adds a listener for changes. It hears of a change after the cache has dropped the view. */
  onChange(listener: Pick<ChangeListener, 'changed' | 'allChanged'>): void {
    this.#also = listener;
  }

  /** The view if it is cached. Undefined says nothing about the store. */
  peek(key: string): Entry | undefined {
    this.#reader.noticePause?.();
    const entry = this.#entries.get(key);
    return entry instanceof Entry ? entry : undefined;
  }

  /** Views by key, in order, if all of them are cached. They count as answered from. */
  peekAll(keys: readonly string[]): Entry[] | null {
    this.#reader.noticePause?.();
    const found: Entry[] = [];
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (!(entry instanceof Entry)) return null;
      found.push(entry);
    }
    this.#hits += keys.length;
    return found;
  }

  /** Views by key, in order: from the cache, and all others in one round trip. Throws StoreAwayError. */
  async load(keys: readonly string[]): Promise<Entry[]> {
    const found = keys.map((key) => this.peek(key));
    const missing = keys.filter((_, i) => found[i] === undefined);
    this.#hits += keys.length - missing.length;
    // Never kept, so never missed.
    for (const key of missing) if (!isCompleteKey(key)) this.#misses += 1;
    if (missing.length === 0) return found as Entry[];
    const placeholders = missing.map((key) => this.#place(key));
    let values: (Buffer | null)[];
    try {
      values = await this.#reader.get(missing);
    } catch (cause) {
      missing.forEach((key, i) => {
        if (this.#entries.get(key) === placeholders[i]) this.#entries.delete(key);
      });
      throw cause;
    }
    const loaded = values.map((value, i) => this.#fill(missing[i]!, placeholders[i]!, value));
    let next = 0;
    return found.map((entry) => entry ?? loaded[next++]!);
  }

  /**
   * Null if this read's value must not be cached: invalidations may be missed, another read of the key is under way, or
   * the key says that a tag is complete. After the store is emptied, a cached "complete" would make a missing view
   * count as gone.
   */
  #place(key: string): Placeholder | null {
    if (!this.#hearing || this.#entries.has(key) || isCompleteKey(key)) return null;
    const placeholder = new Placeholder();
    this.#entries.set(key, placeholder);
    return placeholder;
  }

  #fill(key: string, placeholder: Placeholder | null, value: Buffer | null): Entry {
    const entry = new Entry(value);
    if (placeholder === null || this.#entries.get(key) !== placeholder) return entry;
    this.#entries.delete(key);
    if (value === null) return entry;
    this.#entries.set(key, entry);
    this.#bytes += value.length + entryBytes;
    this.#makeRoom();
    return entry;
  }

  #makeRoom(): void {
    // Evicts the oldest first: a Map keeps insertion order, and moving an entry on every read would cost more than it
    // saves.
    for (const key of this.#entries.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry instanceof Entry) this.#bytes -= entry.value!.length + entryBytes;
    this.#entries.delete(key);
  }

  #forgetAll(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}
