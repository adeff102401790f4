/**
 * Sign-in's state: sessions, grants, codes, refresh tokens, registered clients. Redis and memory implement it (infra/),
 * and one contract suite tests both (test/contracts/auth-state.ts). The event log cannot rebuild it
 * (docs/rules.md#sign-in-state). Every entry has a lifetime, and is gone when that is over.
 */
export interface StateStore {
  /** Puts an entry in place of any earlier one with its kind and id, whose state is dropped. */
  put(kind: string, id: string, payload: StatePayload, options: PutOptions): Promise<void>;
  find(kind: string, id: string): Promise<StateEntry | null>;
  /** Finds an entry and removes it, atomically: of several callers one gets it. */
  take(kind: string, id: string): Promise<StateEntry | null>;
  /**
   * Compare-and-swap of the states of several entries, atomically: all of them or none. Of several callers with the
   * same expectation one succeeds. False: a state is not as expected, or an entry does not exist.
   */
  swap(swaps: readonly Swap[]): Promise<boolean>;
  /** Extends an entry's lifetime to this long from now. Does nothing if the entry is gone. */
  extend(kind: string, id: string, lifeSeconds: number): Promise<void>;
  remove(kind: string, id: string): Promise<void>;
  /** Removes every entry put under a grant. */
  removeGrant(grant: string): Promise<void>;
  /** Every entry put under an account, in no particular order. */
  ofAccount(account: string): Promise<OwnedEntry[]>;
  /**
   * Forgets which entries an account had. Those that are left stay its own; without any, nothing stored names the account.
   */
  tidyAccount(account: string): Promise<void>;
  /** Every account that may have entries. May yield an account twice. */
  accounts(): AsyncIterable<string>;
  /**
   * Adds to a counter of the last so many seconds. If its value would be more than `max`, nothing is added. Adding 0
   * reads it. What was added is forgotten in steps of a sixth of that time, and never too early.
   */
  count(name: string, windowSeconds: number, add: number, max?: number): Promise<Counted>;
  /**
   * Stores when riders were found to be gone (milliseconds, the latest of each). Kept for this long after the last
   * call.
   */
  noteErasures(erasures: ReadonlyMap<string, number>, lifeSeconds: number): Promise<void>;
  /** The stored erasures of riders, earliest first. */
  erasures(): Promise<Map<string, number>>;
  /** Why a restart of the store would lose data, to tell the operator. Null if it would not. */
  risk(): Promise<string | null>;
  close(): Promise<void>;
}

export type StatePayload = Record<string, unknown>;

export interface PutOptions {
  lifeSeconds: number;
  /** The entry is removed with this grant. */
  grant?: string | undefined;
  /** The entry is found by this account (rider id). */
  account?: string | undefined;
}

export interface Swap {
  kind: string;
  id: string;
  from: string | null;
  /** null removes the entry. */
  to: string | null;
}

export interface StateEntry {
  payload: StatePayload;
  /** The state that `swap` set. Null: none yet. */
  state: string | null;
}

export interface Counted {
  /** With what was to be added, also where that was too much. */
  value: number;
  /** How long until there is room for that, or for one after a reading. 0: there was room. */
  waitMs: number;
}

export interface OwnedEntry extends StateEntry {
  kind: string;
  id: string;
}

/** The steps in which a counter forgets. */
export const countSteps = 6;

/**
 * The store cannot be reached or does not answer in time. Try again later. Everybody may read the message (/readyz), so it
 * names no address; `cause` may.
 */
export class StateStoreAwayError extends Error {
  override name = 'StateStoreAwayError';
}
