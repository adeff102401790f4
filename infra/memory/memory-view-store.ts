import type { ChangeListener, ViewReader } from '../../api/ports/view-reader.ts';
import type { CommitResult, FieldWrite, StoredView, ViewWrite, ViewWriter } from '../../projector/ports/view-writer.ts';
import {
  allTags,
  completeKey,
  digestLength,
  parseKey,
  positionKey,
  publicKinds,
  type ValueKind,
} from '../../schemas/views/view-keys.ts';

const publicKindSet = new Set<string>(publicKinds);

/**
 * Views in this process: the embedded default. Fences work as in Redis, so that here too only one projector writes at a
 * time.
 */
export class MemoryViewStore {
  readonly #values = new Map<string, Buffer>();
  readonly #hashes = new Map<string, Map<string, Buffer>>();
  readonly #fences = new Map<number, { epoch: number; sequence: number }>();
  #listeners: ChangeListener[] = [];

  /** A new writer. It loses leadership when another writer leads. */
  writer(): ViewWriter {
    const own = new Map<number, { epoch: number; sequence: number }>();
    const held = (tag: number): CommitResult => {
      const fence = this.#fences.get(tag);
      const mine = own.get(tag);
      if (fence && (!mine || fence.epoch > mine.epoch)) return { committed: false, reason: 'fenced' };
      const intact = fence && mine && fence.epoch === mine.epoch && fence.sequence === mine.sequence;
      return intact ? { committed: true } : { committed: false, reason: 'lost' };
    };
    const raise = (tag: number, epoch: number): void => {
      this.#fences.set(tag, { epoch, sequence: 0 });
      own.set(tag, { epoch, sequence: 0 });
    };
    return {
      lead: async (tags) => {
        const epochs = [...this.#fences.values()].map((fence) => fence.epoch);
        const epoch = Math.max(Date.now(), ...epochs.map((e) => e + 1));
        for (const tag of tags) raise(tag, epoch);
      },
      refence: async (tag) => {
        const before = held(tag);
        if (!before.committed && before.reason === 'fenced') return before;
        raise(tag, own.get(tag)?.epoch ?? Date.now());
        this.#write(tag, { kind: 'complete', id: '', value: null });
        return { committed: true };
      },
      commit: async (tag, writes) => {
        const result = held(tag);
        if (!result.committed) return result;
        own.get(tag)!.sequence += 1;
        this.#fences.get(tag)!.sequence += 1;
        for (const write of writes) this.#write(tag, write);
        return result;
      },
      position: async () => this.#values.get(positionKey)?.toString() ?? null,
      list: (tags) => this.#list(new Set(tags)),
      close: async () => {},
    };
  }

  reader(): ViewReader {
    return {
      get: async (keys) => keys.map((key) => this.#values.get(key) ?? null),
      fields: async (key, fields) => fields.map((field) => this.#hashes.get(key)?.get(field) ?? null),
      watch: (listener) => {
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
    this.#fences.clear();
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

  async *#list(tags: ReadonlySet<number>): AsyncIterable<StoredView> {
    for (const [key, value] of this.#values) {
      const { tag, kind, id } = parseKey(key);
      const digest = value.toString('latin1', 0, digestLength);
      if (tags.has(tag)) yield { tag, kind: kind as ValueKind, id, digest };
    }
    for (const [key, fields] of this.#hashes) {
      const { tag, id } = parseKey(key);
      if (tags.has(tag)) yield { tag, kind: 'reader', id, fields: new Map(fields) };
    }
  }
}
