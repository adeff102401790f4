import type { ChangeListener, ViewReader } from '../../api/ports/view-reader.ts';
import type { CommitResult, StoredView, ViewWriter } from '../../projector/ports/view-writer.ts';
import {
  allTags,
  completeKey,
  digestLength,
  parseKey,
  positionKey,
  publicKinds,
  type ViewWrite,
} from '../../schemas/views/view-keys.ts';

const publicKindSet = new Set<string>(publicKinds);

/**
 * Views in this process: the embedded default. Fences work as in Redis, so that one projector at a time writes here too.
 */
export class MemoryViewStore {
  readonly #values = new Map<string, Buffer>();
  readonly #hashes = new Map<string, Map<string, Buffer>>();
  readonly #fences = new Map<number, { epoch: number; sequence: number }>();
  #listeners: ChangeListener[] = [];

  /** A writer of its own: its leadership ends when another writer leads. */
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
        this.#write({ key: completeKey(tag), value: null });
        return { committed: true };
      },
      commit: async (tag, writes) => {
        const result = held(tag);
        if (!result.committed) return result;
        own.get(tag)!.sequence += 1;
        this.#fences.get(tag)!.sequence += 1;
        for (const write of writes) this.#write(write);
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

  /** Forgets everything, as an emptied Redis does. */
  empty(): void {
    this.#values.clear();
    this.#hashes.clear();
    this.#fences.clear();
    for (const listener of this.#listeners) listener.allChanged();
  }

  #write({ key, field, value }: ViewWrite): void {
    if (field !== undefined) {
      const hash = this.#hashes.get(key) ?? new Map<string, Buffer>();
      if (value) this.#hashes.set(key, hash.set(field, value));
      else if (hash.delete(field) && hash.size === 0) this.#hashes.delete(key);
      return;
    }
    if (value) this.#values.set(key, value);
    else this.#values.delete(key);
    if (publicKindSet.has(parseKey(key).kind)) for (const listener of this.#listeners) listener.changed(key);
  }

  async *#list(tags: ReadonlySet<number>): AsyncIterable<StoredView> {
    for (const [key, value] of this.#values) {
      if (tags.has(parseKey(key).tag)) yield { key, digest: value.toString('latin1', 0, digestLength) };
    }
    for (const [key, fields] of this.#hashes) {
      if (tags.has(parseKey(key).tag)) yield { key, fields: new Map(fields) };
    }
  }
}
