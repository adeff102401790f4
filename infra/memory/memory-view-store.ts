import type { ChangeListener, ViewReader } from '../../api/ports/view-reader.ts';
import type { FieldWrite, StoredName, StoredView, ViewWrite, ViewWriter } from '../../projector/ports/view-writer.ts';
import { allTags, completeKey } from '../../schemas/views/view-keys.ts';
import { parseKey, publicKinds, type ValueKind } from '../../schemas/views/view-kinds.ts';
import { digestLength } from '../../schemas/views/view-values.ts';

const publicKindSet = new Set<string>(publicKinds);

/** Views in this process: the embedded default. It has one projector, so there are no fences, positions or open lists. */
export class MemoryViewStore {
  readonly #values = new Map<string, Buffer>();
  readonly #hashes = new Map<string, Map<string, Buffer>>();
  #listeners: ChangeListener[] = [];

  writer(): ViewWriter {
    return {
      leadership: null,
      beat: null,
      commit: async (tag, writes, { stamp } = {}) => {
        for (const write of writes) this.#write(tag, write);
        if (stamp) this.#write(tag, { kind: 'complete', id: '', value: Buffer.from(stamp) });
        return { committed: true, process: 'memory', compare: false };
      },
      list: (tags, whole = false) => this.#list(new Set(tags), whole),
      read: async (names) => names.map((name) => this.#stored(name)),
      close: async () => {},
    };
  }

  reader(): ViewReader {
    return {
      get: async (keys) => keys.map((key) => this.#values.get(key) ?? null),
      fields: async (key, fields) => fields.map((field) => this.#hashes.get(key)?.get(field) ?? null),
      listen: (listener) => {
        this.#listeners.push(listener);
        listener.hearing(true);
      },
      ready: async () =>
        allTags.every((tag) => this.#values.has(completeKey(tag)))
          ? { ready: true }
          : { ready: false, reason: 'the views are not complete yet' },
      close: async () => {},
    };
  }

  /** Drops everything, like a Redis that was emptied. */
  empty(): void {
    this.#values.clear();
    this.#hashes.clear();
    for (const listener of this.#listeners) listener.allChanged();
  }

  #write(tag: number, write: ViewWrite): void {
    const key = `${tag}|${write.kind}:${write.id}`;
    if (write.kind === 'reader') {
      if (write.replaces) this.#hashes.delete(key);
      this.#writeFields(key, write.fields);
      return;
    }
    if (write.value) this.#values.set(key, write.value);
    else this.#values.delete(key);
    if (publicKindSet.has(write.kind)) for (const listener of this.#listeners) listener.changed(key);
  }

  #writeFields(key: string, fields: readonly FieldWrite[]): void {
    const hash = this.#hashes.get(key) ?? new Map<string, Buffer>();
    for (const { field, value } of fields) {
      if (value === null) hash.delete(field);
      else hash.set(field, Buffer.from(value));
    }
    if (hash.size > 0) this.#hashes.set(key, hash);
    else this.#hashes.delete(key);
  }

  #stored({ tag, kind, id }: StoredName): StoredView | null {
    const key = `${tag}|${kind}:${id}`;
    const fields = this.#hashes.get(key);
    if (kind === 'reader') return fields ? { tag, kind, id, fields: new Map(fields) } : null;
    const bytes = this.#values.get(key);
    return bytes ? { tag, kind, id, bytes, whole: true } : null;
  }

  async *#list(tags: ReadonlySet<number>, whole: boolean): AsyncIterable<StoredView> {
    for (const [key, value] of this.#values) {
      const { tag, kind, id } = parseKey(key);
      const bytes = whole ? value : value.subarray(0, digestLength);
      if (tags.has(tag) && kind !== 'complete') yield { tag, kind: kind as ValueKind, id, bytes, whole };
    }
    for (const [key, fields] of this.#hashes) {
      const { tag, id } = parseKey(key);
      if (tags.has(tag)) yield { tag, kind: 'reader', id, fields: new Map(fields) };
    }
  }
}
