import { MemoryViewStore } from '../../infra/memory/memory-view-store.ts';
import {
  type CommitResult,
  type Leadership,
  openNames,
  type TagNotes,
  type ViewWrite,
  type ViewWriter,
} from '../../projector/ports/view-writer.ts';
import { completeKey } from '../../schemas/views/view-keys.ts';
import { valueWrite } from './view-names.ts';

interface Fence {
  epoch: number;
  sequence: number;
  owner: number;
  state: 'led' | 'free';
}

interface TagState {
  fence: Fence | null;
  position: string | null;
  /** Names by the round that wrote them last. */
  open: Map<string, number>;
  compare: boolean;
}

const spelled = (fence: Fence | null): string =>
  fence ? `${fence.epoch}:${fence.sequence}:${fence.owner}:${fence.state}` : '';
const nothing = (): TagState => ({ fence: null, position: null, open: new Map(), compare: false });

/** Views in memory with fences, positions and open lists, as Redis keeps them: for tests of several projectors. */
export class FencedStore extends MemoryViewStore {
  #tags = new Map<number, TagState>();
  #process = 'first';
  #owners = 0;
  #epoch = 0;
  /** Bytes that there is room for. */
  room: number | null = null;

  tag(tag: number): TagState {
    const state = this.#tags.get(tag) ?? nothing();
    this.#tags.set(tag, state);
    return state;
  }

  /** Another process holds the store now, with what it held. */
  restart(process: string): void {
    this.#process = process;
  }

  override empty(): void {
    super.empty();
    this.#tags.clear();
  }

  override writer(): ViewWriter {
    const views = super.writer();
    const owner = ++this.#owners;
    const held = new Map<number, Fence>();
    const after = (fence: Fence): Fence => ({ ...fence, sequence: fence.sequence + 1 });
    const leadership: Leadership = {
      look: async (tags) =>
        tags.map((tag) => ({ fence: spelled(this.tag(tag).fence), position: this.tag(tag).position })),
      coming: async () => {},
      take: async (tag, seen, doubtful) => {
        const state = this.tag(tag);
        if (spelled(state.fence) !== seen) return null;
        this.#epoch += 1;
        state.fence = { epoch: this.#epoch, sequence: 0, owner, state: 'led' };
        held.set(tag, state.fence);
        state.compare ||= doubtful;
        for (const name of state.open.keys()) state.open.set(name, 0);
        if (doubtful) await views.commit(tag, [valueWrite(completeKey(tag), null)]);
        return { position: state.position, open: state.compare ? [] : [...state.open.keys()], compare: state.compare };
      },
      isAsLeft: (tag, fence) => {
        const own = held.get(tag);
        return own !== undefined && (fence === spelled(own) || fence === spelled(after(own)));
      },
      room: async () => this.room,
      isFree: (fence) => fence.endsWith(':free'),
      free: async (tag) => {
        const state = this.tag(tag);
        const own = held.get(tag);
        if (own && spelled(state.fence) === spelled(own)) state.fence = { ...own, state: 'free' };
      },
    };
    const commit = async (tag: number, writes: readonly ViewWrite[], notes: TagNotes = {}): Promise<CommitResult> => {
      const state = this.tag(tag);
      const own = held.get(tag);
      if (!own || spelled(state.fence) !== spelled(own)) {
        const fenced = state.fence !== null && state.fence.owner !== owner && state.fence.epoch > (own?.epoch ?? 0);
        return { committed: false, reason: fenced ? 'fenced' : 'lost' };
      }
      state.fence = after(own);
      held.set(tag, state.fence);
      note(state, writes, notes);
      const stamp = notes.stamp === this.#process ? { stamp: notes.stamp } : {};
      await views.commit(tag, writes, stamp);
      return { committed: true, process: notes.stamp === undefined ? '' : this.#process, compare: state.compare };
    };
    return { ...views, leadership, commit };
  }
}

function note(state: TagState, writes: readonly ViewWrite[], { round, position, compare }: TagNotes): void {
  if (position) {
    state.position = position.text;
    for (const [name, at] of state.open) if (at < position.round) state.open.delete(name);
  }
  if (compare === 'begin') state.open.clear();
  if (compare) state.compare = compare === 'begin';
  if (round !== undefined) for (const name of openNames(writes)) state.open.set(name, round);
  if (state.open.size > 20_000) {
    state.open.clear();
    state.compare = true;
  }
}
