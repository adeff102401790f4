import { isCompleteKey } from '../../schemas/views/view-keys.ts';
import type { ChangeListener, ViewReader } from '../ports/view-reader.ts';

/** A view as it was read, and what a reader made of it. */
export class Entry {
  readonly value: Buffer | null;
  #made: unknown;

  constructor(value: Buffer | null) {
    this.value = value;
  }

  /** What `make` makes of the value, made once while the entry is kept. */
  as<T>(make: (value: Buffer) => T): T {
    this.#made ??= make(this.value!);
    return this.#made as T;
  }
}

/** A read under way: its value may be kept only if this is still there when it comes. */
class Placeholder {}

/** Bytes an entry costs beyond its value, roughly. */
const entryBytes = 400;

/**
 * Views of the public layer kept in this process, emptied key by key by the store's change messages. What is read right
 * after a commit is at most as old as such a message under way.
 *
 * Only what is there is kept, never an absence: keys that somebody makes up would push out what others read. Nor is the
 * word that a tag is complete: together with an absence read later, from a store emptied meanwhile, it would be a lie.
 */
export class ViewCache {
  readonly #reader: ViewReader;
  readonly #bytesMax: number;
  readonly #entries = new Map<string, Entry | Placeholder>();
  #bytes = 0;
  #hearing = false;
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

  /** Bytes kept, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Lets somebody else hear of changes too, once they are forgotten here. */
  onChange(listener: Pick<ChangeListener, 'changed' | 'allChanged'>): void {
    this.#also = listener;
  }

  /** The view if it is kept here; undefined otherwise, which says nothing about the store. */
  peek(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    return entry instanceof Entry ? entry : undefined;
  }

  /** Views by key, in order: from here, or all the others in one round trip. Throws StoreAwayError. */
  async load(keys: readonly string[]): Promise<Entry[]> {
    const found = keys.map((key) => this.peek(key));
    const missing = keys.filter((_, i) => found[i] === undefined);
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
   * Null where this read's value is not to be kept: nothing is surely heard, or another read is under way. That a tag is
   * complete is never kept: of a store emptied a moment ago it would make what is missing count as gone.
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
    // The oldest first: a Map keeps the order of insertion, and moving an entry on every read would cost more than it saves.
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
