import type { PutOptions, StatePayload, StateStore } from '../../api/ports/sign-in-state.ts';
import { realClock } from '../../projector/running/clock.ts';

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

/**
 * If a kind has more entries than this, those of that kind that would expire soonest are dropped. So sign-ins that
 * strangers begin and never finish do not push out codes, sessions or grants.
 */
const kindEntriesMax = 20_000;
/** What has expired is dropped at the first entry that is put after this. */
const sweepEveryMs = 60_000;

/** Sign-in's state in this process, for the embedded default. A restart signs everybody out. */
export function memorySignInState({ nowMs } = realClock): StateStore {
  const kinds = new Map<string, Map<string, Kept>>();
  let sweptMs = nowMs();

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
    sweptMs = now;
    for (const entry of all()) if (entry.expiresMs <= now) remove(entry);
  };
  const makeRoom = (kind: string): Map<string, Kept> => {
    const entries = kinds.get(kind) ?? new Map<string, Kept>();
    kinds.set(kind, entries);
    if (entries.size >= kindEntriesMax || nowMs() - sweptMs > sweepEveryMs) sweep();
    if (entries.size >= kindEntriesMax) {
      const soonest = [...entries.values()].sort((a, b) => a.expiresMs - b.expiresMs);
      // A tenth at once, so that a full map is not sorted for every new entry.
      for (const entry of soonest.slice(0, Math.ceil(kindEntriesMax / 10))) remove(entry);
    }
    return entries;
  };

  const put = (kind: string, id: string, payload: StatePayload, { lifeSeconds, account }: PutOptions): Kept => {
    const expiresMs = nowMs() + lifeSeconds * 1000;
    const kept = { kind, id, payload: JSON.stringify(payload), uses: 0, firstUseMs: 0, expiresMs, account };
    makeRoom(kind).set(id, kept);
    return kept;
  };

  return {
    async put(...entry) {
      put(...entry);
    },
    async find(kind, id) {
      return payloadOf(live(kind, id));
    },
    async take(kind, id) {
      const entry = live(kind, id);
      remove({ kind, id });
      return payloadOf(entry);
    },
    async use(kind, id, { graceMs, max, limit }) {
      const entry = live(kind, id);
      if (!entry) return null;
      const now = nowMs();
      if (entry.uses > 0 && now - entry.firstUseMs > graceMs) return { was: 'late' };
      if (entry.uses >= max) return { was: 'refused' };
      if (limit) {
        const counted = live('Uses', limit.key) ?? put('Uses', limit.key, {}, { lifeSeconds: limit.windowMs / 1000 });
        if (++counted.uses > limit.max) return { was: 'limited', waitMs: counted.expiresMs - now };
      }
      if (++entry.uses > 1) return { was: 'again' };
      entry.firstUseMs = now;
      return { was: 'first' };
    },
    async extend(kind, id, lifeSeconds) {
      const entry = live(kind, id);
      if (entry) entry.expiresMs = nowMs() + lifeSeconds * 1000;
    },
    async remove(kind, id) {
      remove({ kind, id });
    },
    async ofAccount(account, kind) {
      const owned = all().filter(
        (entry) => entry.account === account && entry.expiresMs > nowMs() && (kind ?? entry.kind) === entry.kind,
      );
      return [...owned.map((entry) => ({ kind: entry.kind, id: entry.id, payload: payloadOf(entry)! }))];
    },
    // Only the entries themselves name an account.
    async tidyAccount() {},
    async *accounts() {
      sweep();
      yield* new Set(
        all()
          .map(({ account }) => account)
          .filter((account) => account !== undefined),
      );
    },
    // Not by the library that counts in Redis: it goes by the wall clock here, and its timers would keep each request alive.
    limiter: ({ name, duration }) => ({
      async penalty(key, points = 1) {
        const counted = live(name, key) ?? put(name, key, {}, { lifeSeconds: duration });
        counted.uses += points;
        return { consumedPoints: counted.uses, msBeforeNext: counted.expiresMs - nowMs() };
      },
    }),
    async risk() {
      // The embedded default loses its state on purpose, and the documentation says so.
      return null;
    },
    async close() {
      kinds.clear();
    },
  };
}
