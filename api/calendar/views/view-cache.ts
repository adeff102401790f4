import { completeKeyOf, isCompleteKey } from '../../../schemas/views/view-keys.ts';
import { type ChangeListener, StoreAwayError, type ViewReader } from '../../ports/view-reader.ts';

/** A view as it was read, and what callers made of it. */
export class Entry {
  /** The stored bytes. Null if there were none. */
  readonly #stored: Buffer | null;
  readonly #isComplete: boolean;
  #made: unknown;

  /** `isComplete`: whether the view's tag was complete when it was read. */
  constructor(stored: Buffer | null, isComplete: boolean) {
    this.#stored = stored;
    this.#isComplete = isComplete;
  }

  get isThere(): boolean {
    return this.#stored !== null;
  }

  /** Throws StoreAwayError if the view is missing and may exist, because its tag is not complete (docs/rules.md#absence). */
  assertKnown(): void {
    if (this.#stored === null && !this.#isComplete) throw new StoreAwayError('the views are not known to be complete');
  }

  /** The view's bytes. Null if it does not exist. Throws StoreAwayError where that is not known. */
  get value(): Buffer | null {
    this.assertKnown();
    return this.#stored;
  }

  /** What `make` makes of the value. It is made once, while the entry is cached. Null, or throws, as `value`. */
  as<T>(make: (value: Buffer) => T): T | null {
    if (this.#made !== undefined) return this.#made as T;
    const value = this.value;
    if (value === null) return null;
    const made = make(value);
    this.#made = made;
    return made;
  }

  /** Bytes of a view in a cache, approximately: twice as much again for what callers make of the stored ones, compressed bodies among it. */
  get bytes(): number {
    return 3 * this.#stored!.length + 400;
  }
}

interface ViewCacheOptions {
  bytesMax?: number;
  /** Called after each round trip. */
  onRead?(operation: 'get' | 'fields', seconds: number): void;
  /** Called with the key of each view that is looked up. */
  onUsed?: ((key: string) => void) | undefined;
}

/** A read under way. Its value may be cached only if this is still in the map when the value comes. */
class Placeholder {}

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
  readonly #onRead: NonNullable<ViewCacheOptions['onRead']>;
  readonly #onUsed: ViewCacheOptions['onUsed'];
  readonly #entries = new Map<string, Entry | Placeholder>();
  #bytes = 0;
  #hearing = false;
  /** How many views were looked up and found here. The caller of `peek` counts what it answers from. */
  hits = 0;
  /** How many were looked up and not found here. */
  misses = 0;
  #also: Pick<ChangeListener, 'changed' | 'allChanged'> | null = null;

  constructor(reader: ViewReader, { bytesMax = 256 * 1024 * 1024, onRead = () => {}, onUsed }: ViewCacheOptions = {}) {
    this.#reader = reader;
    this.#bytesMax = bytesMax;
    this.#onRead = onRead;
    this.#onUsed = onUsed;
    reader.listen({
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
        this.#forgetAll();
      },
    });
  }

  /** Approximate bytes in the cache. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a listener for changes. It hears of a change after the cache has dropped the view. */
  onChange(listener: Pick<ChangeListener, 'changed' | 'allChanged'>): void {
    this.#also = listener;
  }

  /** The view if it is cached. Undefined says nothing about the store. */
  peek(key: string): Entry | undefined {
    this.#onUsed?.(key);
    this.#reader.noticePause?.();
    return this.#kept(key);
  }

  #kept(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry instanceof Entry ? entry : undefined;
  }

  /** Views by key, in order: at once if all are cached, else the others in one round trip. Throws StoreAwayError. */
  load(keys: readonly string[]): Entry[] | Promise<Entry[]> {
    this.#reader.noticePause?.();
    const found: Entry[] = [];
    if (this.#onUsed) keys.forEach(this.#onUsed);
    for (const key of keys) {
      const entry = this.#kept(key);
      if (entry === undefined) return this.#read(keys);
      found.push(entry);
    }
    this.hits += keys.length;
    return found;
  }

  /** Some fields of a rider's own layer, in order. They are never cached. Throws StoreAwayError. */
  fields(key: string, names: readonly string[]): Promise<(Buffer | null)[]> {
    return this.#timed('fields', this.#reader.fields(key, names));
  }

  async #timed<T>(operation: 'get' | 'fields', read: Promise<T>): Promise<T> {
    const started = performance.now();
    const result = await read;
    this.#onRead(operation, (performance.now() - started) / 1000);
    return result;
  }

  async #read(keys: readonly string[]): Promise<Entry[]> {
    const found = keys.map((key) => this.#kept(key));
    const missing = keys.filter((_, i) => found[i] === undefined);
    this.hits += keys.length - missing.length;
    // A complete key is never cached, so it does not count as a miss.
    for (const key of missing) if (!isCompleteKey(key)) this.misses += 1;
    const placeholders = missing.map((key) => this.#place(key));
    // Whether each view's tag is complete is read at the same moment: only then does a missing view not exist.
    const asked = [...new Set([...missing, ...missing.map(completeKeyOf)])];
    let values: (Buffer | null)[];
    try {
      values = await this.#timed('get', this.#reader.get(asked));
    } catch (cause) {
      missing.forEach((key, i) => {
        if (this.#entries.get(key) === placeholders[i]) this.#entries.delete(key);
      });
      throw cause;
    }
    const stored = new Map(asked.map((key, i) => [key, values[i]!]));
    const loaded = missing.map((key, i) => {
      const entry = new Entry(stored.get(key)!, stored.get(completeKeyOf(key)) !== null);
      this.#fill(key, placeholders[i]!, entry);
      return entry;
    });
    let next = 0;
    return found.map((entry) => entry ?? loaded[next++]!);
  }

  /**
   * Null if this read's value must not be cached: invalidations may be missed, another read of the key is under way, or
   * the key says that a tag is complete.
   */
  #place(key: string): Placeholder | null {
    if (!this.#hearing || this.#entries.has(key) || isCompleteKey(key)) return null;
    const placeholder = new Placeholder();
    this.#entries.set(key, placeholder);
    return placeholder;
  }

  #fill(key: string, placeholder: Placeholder | null, entry: Entry): void {
    if (this.#entries.get(key) !== placeholder) return;
    this.#entries.delete(key);
    if (!entry.isThere) return;
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
    this.#makeRoom();
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
    this.#bytes -= this.#kept(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  #forgetAll(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }
}
