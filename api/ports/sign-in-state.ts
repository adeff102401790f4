import type { StoreMemory } from './view-reader.ts';

/**
 * Sign-in's state: sessions, grants, codes, refresh tokens, registered clients. Redis and memory implement it (infra/),
 * and one contract suite tests both (test/contracts/sign-in-state.ts). The event log cannot rebuild it.
 * Every entry has a lifetime, and is gone when that is over.
 */
export interface StateStore {
  /**
   * Puts an entry in place of any earlier one with its kind and id, and forgets that one's uses.
   * @example await store.put('Grant', 'g1', { clientId: 'app' }, { lifeSeconds: 7_776_000, account: 'rider-ada' })
   */
  put(kind: string, id: string, payload: StatePayload, options: PutOptions): Promise<void>;
  find(kind: string, id: string): Promise<StatePayload | null>;
  /** Finds and removes an entry in one step: of several callers, one gets it. */
  take(kind: string, id: string): Promise<StatePayload | null>;
  /**
   * Uses an entry, and says what kind of use that was, in one step: of several callers one is the first. Decided in the
   * order of Use's cases. Null if there is no entry.
   */
  use(kind: string, id: string, rule: UseRule): Promise<Use | null>;
  /** Extends an entry's lifetime to this long from now. Does nothing if the entry is gone. */
  extend(kind: string, id: string, lifeSeconds: number): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
  /** Every entry put under an account, or every one of a kind, in no particular order. */
  ofAccount(account: string, kind?: string): Promise<OwnedEntry[]>;
  /**
   * Forgets which removed entries an account had. Entries that are left stay listed under it. Once none is left,
   * nothing that is stored names the account.
   */
  tidyAccount(account: string): Promise<void>;
  /** Every account that may have entries. May yield an account twice. */
  accounts(): AsyncIterable<string>;
  /** Counts by key, in windows of time that begin with a key's first. */
  limiter(options: LimiterOptions): Limiter;
  /** Why a restart of the store would lose data, to tell the operator. Null if it would not. */
  risk(): Promise<string | null>;
  /** Absent where the state is in this process. */
  memory?(): Promise<StoreMemory>;
  close(): Promise<void>;
}

export type StatePayload = Record<string, unknown>;

export interface PutOptions {
  lifeSeconds: number;
  /** The entry is found by this account (rider id). */
  account?: string | undefined;
}

/** How often an entry may be used. */
interface UseRule {
  /** From the first use, by the store's clock. */
  graceMs: number;
  /** So many uses within that time, the first included. */
  max: number;
  /** Of all entries with this key together: at most so many uses in a window, which begins with its first. */
  limit?: { key: string; max: number; windowMs: number };
}

export type Use =
  /** It was first used longer ago than the grace. */
  | { was: 'late' }
  /** It was used as often as it may be. */
  | { was: 'refused' }
  /** Nothing was counted, so the same use may succeed after this many milliseconds. */
  | { was: 'limited'; waitMs: number }
  | { was: 'first' }
  | { was: 'again' };

interface LimiterOptions {
  name: string;
  /** So many in one window. */
  points: number;
  /** The length of a window, in seconds. */
  duration: number;
}

interface Limiter {
  /** Adds points to a key's count, one by default, and resolves to the new count. Throws StoreAwayError. */
  penalty(key: string, points?: number): Promise<{ consumedPoints: number; msBeforeNext: number }>;
}

export interface OwnedEntry {
  kind: string;
  id: string;
  payload: StatePayload;
}
