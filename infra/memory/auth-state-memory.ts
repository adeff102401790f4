import type {
  Marks,
  OwnedEntry,
  PutOptions,
  StateEntry,
  StatePayload,
  StateStore,
} from '../../api/oauth/state-store.ts';

interface Kept {
  kind: string;
  id: string;
  /** As text, so that no caller holds on to what is kept. */
  payload: string;
  marks: Map<string, string>;
  expiresMs: number;
  grant: string | undefined;
  account: string | undefined;
}

interface Counter {
  window: number;
  value: number;
}

export interface MemoryAuthStateOptions {
  /** Beyond this many, those that would end soonest make room. */
  entriesMax?: number;
  nowMs?: () => number;
}

const sweepEveryMs = 30_000;

/** Sign-in's state in this process, for the embedded default: a restart signs everybody out. */
export function memoryAuthState({ entriesMax = 50_000, nowMs = Date.now }: MemoryAuthStateOptions = {}): StateStore {
  const entries = new Map<string, Kept>();
  const counters = new Map<string, Counter>();
  const erased = new Map<string, number>();

  const keyOf = (kind: string, id: string): string => `${kind}:${id}`;
  const live = (kind: string, id: string): Kept | undefined => {
    const entry = entries.get(keyOf(kind, id));
    return entry !== undefined && entry.expiresMs > nowMs() ? entry : undefined;
  };
  const entryOf = ({ payload, marks }: Kept): StateEntry => ({
    payload: JSON.parse(payload) as StatePayload,
    marks: Object.fromEntries(marks),
  });
  const sweep = (): void => {
    const now = nowMs();
    for (const [key, entry] of entries) if (entry.expiresMs <= now) entries.delete(key);
    // Windows have different lengths; a counter that lost its window only begins again.
    if (counters.size > entriesMax) counters.clear();
  };
  const makeRoom = (): void => {
    if (entries.size < entriesMax) return;
    sweep();
    if (entries.size < entriesMax) return;
    // A tenth at once, so that a full store isn't sorted for every entry.
    const byEnd = [...entries].sort(([, a], [, b]) => a.expiresMs - b.expiresMs);
    for (const [key] of byEnd.slice(0, Math.ceil(entriesMax / 10))) entries.delete(key);
  };
  const timer = setInterval(sweep, sweepEveryMs).unref();

  return {
    async put(kind: string, id: string, payload: StatePayload, { lifeSeconds, grant, account }: PutOptions) {
      makeRoom();
      entries.set(keyOf(kind, id), {
        kind,
        id,
        payload: JSON.stringify(payload),
        marks: new Map(),
        expiresMs: nowMs() + lifeSeconds * 1000,
        grant,
        account,
      });
    },
    async find(kind, id) {
      const entry = live(kind, id);
      return entry ? entryOf(entry) : null;
    },
    async take(kind, id) {
      const entry = live(kind, id);
      entries.delete(keyOf(kind, id));
      return entry ? entryOf(entry) : null;
    },
    async mark(kind: string, id: string, marks: Marks, expected: Marks) {
      const entry = live(kind, id);
      if (!entry) return false;
      for (const [name, value] of Object.entries(expected)) if ((entry.marks.get(name) ?? null) !== value) return false;
      for (const [name, value] of Object.entries(marks)) {
        if (value === null) entry.marks.delete(name);
        else entry.marks.set(name, value);
      }
      return true;
    },
    async extend(kind, id, lifeSeconds) {
      const entry = live(kind, id);
      if (entry) entry.expiresMs = nowMs() + lifeSeconds * 1000;
    },
    async remove(kind, id) {
      entries.delete(keyOf(kind, id));
    },
    async removeGrant(grant) {
      for (const [key, entry] of entries) if (entry.grant === grant) entries.delete(key);
    },
    async ofAccount(account) {
      const found: OwnedEntry[] = [];
      for (const entry of entries.values())
        if (entry.account === account && entry.expiresMs > nowMs())
          found.push({ kind: entry.kind, id: entry.id, ...entryOf(entry) });
      return found;
    },
    async *accounts() {
      sweep();
      const accounts = new Set<string>();
      for (const entry of entries.values()) if (entry.account !== undefined) accounts.add(entry.account);
      yield* accounts;
    },
    async count(name, windowSeconds, add) {
      const window = Math.floor(nowMs() / 1000 / windowSeconds);
      const counter = counters.get(name);
      const value = (counter?.window === window ? counter.value : 0) + add;
      if (add !== 0) counters.set(name, { window, value });
      return value;
    },
    async noteErasures(erasures, lifeSeconds) {
      for (const [rider, goneMs] of erasures) erased.set(rider, Math.max(goneMs, erased.get(rider) ?? 0));
      for (const [rider, goneMs] of erased) if (goneMs <= nowMs() - lifeSeconds * 1000) erased.delete(rider);
    },
    async erasures() {
      return new Map([...erased].sort(([, a], [, b]) => a - b));
    },
    async risk() {
      // Said once in the documentation: in the embedded default it is meant.
      return null;
    },
    async close() {
      clearInterval(timer);
      entries.clear();
    },
  };
}
