import { countSteps, type StatePayload, type StateStore } from '../../api/oauth/state-store.ts';

interface Kept {
  kind: string;
  id: string;
  /** JSON text, so that no caller shares the stored object. */
  payload: string;
  uses: number;
  firstUseMs: number;
  expiresMs: number;
  account: string | undefined;
}

interface Counter {
  /** What was added, by step of time. */
  steps: Map<number, number>;
  endsMs: number;
}

const total = ({ steps }: Counter): number => [...steps.values()].reduce((sum, added) => sum + added, 0);

/** How long until so many steps are forgotten that there is room for `more`. */
function waitOf(counter: Counter, more: number, max: number, { stepMs, nowMs }: { stepMs: number; nowMs: number }) {
  let left = total(counter) + more;
  if (left <= max) return 0;
  let freeMs = nowMs + stepMs * countSteps;
  for (const [step, added] of [...counter.steps].sort(([a], [b]) => a - b)) {
    freeMs = (step + countSteps + 1) * stepMs;
    left -= added;
    if (left <= max) break;
  }
  return Math.max(1, Math.ceil(freeMs - nowMs));
}

interface MemoryAuthStateOptions {
  /**
   * If a kind has more entries than this, those of that kind that would expire soonest are dropped. So sign-ins that
   * strangers begin and never finish do not push out codes, sessions or grants.
   */
  kindEntriesMax?: number;
  /** If there are more counters than this, the lowest are dropped. */
  countersMax?: number;
  nowMs?: () => number;
}

const sweepEveryMs = 30_000;

/** Sign-in's state in this process, for the embedded default. A restart signs everybody out. */
export function memoryAuthState(options: MemoryAuthStateOptions = {}): StateStore {
  const { kindEntriesMax = 20_000, countersMax = 50_000, nowMs = Date.now } = options;
  const kinds = new Map<string, Map<string, Kept>>();
  const counters = new Map<string, Counter>();

  const live = (kind: string, id: string): Kept | undefined => {
    const entry = kinds.get(kind)?.get(id);
    return entry !== undefined && entry.expiresMs > nowMs() ? entry : undefined;
  };
  function* all(): Generator<Kept> {
    for (const entries of kinds.values()) yield* entries.values();
  }
  const payloadOf = (entry: Kept | undefined): StatePayload | null =>
    entry === undefined ? null : (JSON.parse(entry.payload) as StatePayload);
  const remove = ({ kind, id }: Pick<Kept, 'kind' | 'id'>): boolean => kinds.get(kind)?.delete(id) ?? false;
  const sweep = (): void => {
    const now = nowMs();
    for (const entry of all()) if (entry.expiresMs <= now) remove(entry);
    for (const [name, { endsMs }] of counters) if (endsMs <= now) counters.delete(name);
  };
  const makeRoom = (kind: string): Map<string, Kept> => {
    const entries = kinds.get(kind) ?? new Map<string, Kept>();
    kinds.set(kind, entries);
    if (entries.size >= kindEntriesMax) sweep();
    if (entries.size >= kindEntriesMax) removeLowest(entries, kindEntriesMax, ({ expiresMs }) => expiresMs);
    return entries;
  };
  const makeRoomToCount = (): void => {
    if (counters.size >= countersMax) sweep();
    // The highest counters limit somebody now, so the lowest go.
    if (counters.size >= countersMax) removeLowest(counters, countersMax, total);
  };
  const timer = setInterval(sweep, sweepEveryMs).unref();

  return {
    async put(kind, id, payload, { lifeSeconds, account }) {
      makeRoom(kind).set(id, {
        kind,
        id,
        payload: JSON.stringify(payload),
        uses: 0,
        firstUseMs: 0,
        expiresMs: nowMs() + lifeSeconds * 1000,
        account,
      });
    },
    async find(kind, id) {
      return payloadOf(live(kind, id));
    },
    async take(kind, id) {
      const entry = live(kind, id);
      remove({ kind, id });
      return payloadOf(entry);
    },
    async use(kind, id) {
      const entry = live(kind, id);
      if (!entry) return null;
      entry.uses++;
      if (entry.uses === 1) entry.firstUseMs = nowMs();
      return { uses: entry.uses, sinceFirstMs: nowMs() - entry.firstUseMs };
    },
    async extend(kind, id, lifeSeconds) {
      const entry = live(kind, id);
      if (entry) entry.expiresMs = nowMs() + lifeSeconds * 1000;
    },
    async remove(kind, id) {
      remove({ kind, id });
    },
    async ofAccount(account) {
      const owned = all().filter((entry) => entry.account === account && entry.expiresMs > nowMs());
      return [...owned.map((entry) => ({ kind: entry.kind, id: entry.id, payload: payloadOf(entry)! }))];
    },
    // Nothing but the entries themselves names an account.
    async tidyAccount() {},
    async *accounts() {
      sweep();
      yield* new Set(
        all()
          .map(({ account }) => account)
          .filter((account) => account !== undefined),
      );
    },
    async count(name, windowSeconds, add, max = Number.POSITIVE_INFINITY) {
      const stepMs = (windowSeconds * 1000) / countSteps;
      const step = Math.floor(nowMs() / stepMs);
      const known = counters.get(name);
      const counter = known ?? { steps: new Map<number, number>(), endsMs: 0 };
      for (const each of counter.steps.keys()) if (step - each > countSteps) counter.steps.delete(each);
      const value = total(counter) + add;
      const waitMs = waitOf(counter, Math.max(add, 1), max, { stepMs, nowMs: nowMs() });
      if (add === 0 || waitMs > 0) return { value, waitMs };
      if (!known) makeRoomToCount();
      counter.steps.set(step, (counter.steps.get(step) ?? 0) + add);
      counter.endsMs = (step + countSteps + 1) * stepMs;
      counters.set(name, counter);
      return { value, waitMs };
    },
    async risk() {
      // The documentation says so: in the embedded default, state is lost on purpose.
      return null;
    },
    async close() {
      clearInterval(timer);
      kinds.clear();
    },
  };
}

/** Removes a tenth at once, so that a full map is not sorted for every new entry. */
function removeLowest<T>(from: Map<string, T>, max: number, rank: (value: T) => number): void {
  const ranked = [...from].sort(([, a], [, b]) => rank(a) - rank(b));
  for (const [key] of ranked.slice(0, Math.ceil(max / 10))) from.delete(key);
}
